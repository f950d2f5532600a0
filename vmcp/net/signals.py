"""What the signals of the process mean; they are heard in the event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable


def stop() -> asyncio.Event:
    """Return what the first SIGTERM or SIGINT sets; the next one ends the process at once."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def tell() -> None:
        told.set()
        for each in numbers:
            loop.remove_signal_handler(each)
            # KeyboardInterrupt would be raised wherever we are, and caught where somebody catches everything.
            signal.signal(each, signal.SIG_DFL)

    for each in numbers:
        loop.add_signal_handler(each, tell)
    return told


def on_hang_up(reload: Callable[[], None], end: Callable[[], None]) -> None:
    """Reload on SIGHUP, but end where it says that the terminal has gone in which we were started."""
    has_terminal = os.isatty(sys.stderr.fileno())

    def hear() -> None:
        has_lost_it = has_terminal and not os.isatty(sys.stderr.fileno())
        (end if has_lost_it else reload)()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hear)
