"""Time that tests turn: a clock set by hand, and an event loop whose waits take no time.

The loop is for tests without sockets, processes and threads: whenever nothing is ready it moves on
to the next timer.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import ParamSpec

P = ParamSpec("P")

START = datetime(2026, 11, 1, tzinfo=UTC)


class HandClock:
    """A Clock that stands still until it is moved."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def monotonic(self) -> float:
        return self._seconds

    def now(self) -> datetime:
        return START + timedelta(seconds=self._seconds)

    def move(self, seconds: float) -> None:
        self._seconds += seconds


class LoopClock:
    """A Clock that tells the time of the event loop, which may be virtual."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that jumps to its next timer instead of waiting for it."""

    def __init__(self) -> None:
        self._seconds = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self._seconds

    def jump(self, seconds: float) -> None:
        self._seconds += seconds


class _Jumping(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if timeout is None and not ready:
            raise RuntimeError("nothing will ever happen in this test")
        if not ready and timeout:
            self._loop.jump(timeout)
        return ready


def in_virtual_time(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """Run a test on a loop whose waits take no time."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run
