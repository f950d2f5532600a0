"""One task that looks after all open answers: it keeps silent ones alive and notices who has left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Protocol

from vmcp.clock import Clock
from vmcp.gateway.deadline import Deadline

log = logging.getLogger(__name__)

# How soon after a call began we look whether its client is still there; most calls have ended by then.
_TICK_SECONDS = 0.25


class Kept(Protocol):
    """An answer that is not finished."""

    @property
    def deadline(self) -> Deadline:
        """The time that its call still has."""
        ...

    def is_due(self, now: float) -> bool:
        """Tell whether it was silent for so long that something must be sent."""
        ...

    async def beat(self) -> None:
        """Send what shows that we are still here."""
        ...

    async def watch(self) -> None:
        """Wait until the client has left, or the answer is finished, and act on it."""
        ...


class Keeper:
    """Look after answers from the tick after they began; a short call costs two operations on a set."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._young: set[Kept] = set()
        self._watched: set[Kept] = set()
        self._emptied: asyncio.Event | None = None

    def now(self) -> float:
        """Return the time by which beats are due."""
        return self._clock.monotonic()

    def add(self, kept: Kept) -> None:
        """Begin to look after an answer."""
        self._young.add(kept)

    def remove(self, kept: Kept) -> None:
        """Look after it no more."""
        self._young.discard(kept)
        self._watched.discard(kept)
        if self._emptied is not None and not len(self):
            self._emptied.set()

    def __len__(self) -> int:
        return len(self._young) + len(self._watched)

    def end_all(self, why: Exception) -> None:
        """End all calls of open answers now, which are told why."""
        for kept in (*self._young, *self._watched):
            kept.deadline.end(why)

    async def emptied(self) -> None:
        """Wait until no answer is open."""
        self._emptied = asyncio.Event()
        if len(self):
            await self._emptied.wait()

    async def run(self) -> None:
        """Look after all until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await asyncio.sleep(_TICK_SECONDS)
                now = self._clock.monotonic()
                for kept in [kept for kept in self._watched if kept.is_due(now)]:
                    tasks.create_task(_guarded(kept.beat()))
                for kept in tuple(self._young):
                    self._young.discard(kept)
                    self._watched.add(kept)
                    tasks.create_task(_guarded(kept.watch()))


async def _guarded(work: Coroutine[None, None, None]) -> None:
    try:
        await work
    except Exception:
        # The fault is ours, or the server's: the other answers must not fall with this one.
        log.exception("an answer could not be looked after")
