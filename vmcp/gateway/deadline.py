"""The time that a call may take: a clock that stops while a person answers, and that a cancellation ends."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class CallCancelled(Exception):
    """The client has cancelled the call: it gets no answer."""


class Deadline:
    """Bound the body of an `async with`; TimeoutError tells that it ended early, `ended_by` why.

    Nothing is bounded before `start()`; it may be entered once. `ended_by` is None where its time was over.
    """

    __slots__ = ("_paused", "_remaining", "_timeout", "ended_by")

    def __init__(self) -> None:
        self._timeout: asyncio.Timeout | None = None
        self._paused = 0
        self._remaining = 0.0
        self.ended_by: Exception | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody ended the body, be it the client or whoever needs its end."""
        return self.ended_by is not None

    def start(self, seconds: float | None) -> Deadline:
        """Set the time that the body has (None: as long as it wants), and return itself."""
        self._timeout = asyncio.timeout(0 if self.is_cancelled else seconds)
        return self

    def cancel(self) -> None:
        """End the body now: the client wants the call no more."""
        self.end(CallCancelled())

    def end(self, why: Exception) -> None:
        """End the body now; the first reason counts."""
        self.ended_by = self.ended_by or why
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time())

    def pause(self) -> None:
        """Stop the clock; pauses nest."""
        self._paused += 1
        when = self._timeout.when() if self._timeout else None
        if self._paused == 1 and when is not None and self._timeout and not self.is_cancelled:
            self._remaining = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def resume(self) -> None:
        """Let the clock go on once as many resumed as paused."""
        self._paused -= 1
        if (
            self._paused == 0
            and self._timeout
            and not self.is_cancelled
            and not self._timeout.expired()
        ):
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._remaining)

    async def __aenter__(self) -> Self:
        if self._timeout is None:
            raise RuntimeError("start() sets the time first")
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        timeout, self._timeout = self._timeout, None
        if timeout is not None:
            await timeout.__aexit__(kind, error, trace)
