"""An event loop with sockets, whose time a test moves on."""

from __future__ import annotations

import asyncio


class SkippingLoop(asyncio.SelectorEventLoop):
    """Real time, and what was skipped of it."""

    def __init__(self) -> None:
        self._skipped = 0.0
        super().__init__()

    def time(self) -> float:
        return super().time() + self._skipped

    def skip(self, seconds: float) -> None:
        """Move on: what was to happen within these seconds happens in the next turns."""
        self._skipped += seconds


def skip(seconds: float) -> None:
    """Move the running loop on."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skip(seconds)
