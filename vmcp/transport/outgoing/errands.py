"""What must be done although nobody waits for it: farewells and cancellations, and streams that are held."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from vmcp.protocol.failures import BackendFailed

log = logging.getLogger(__name__)

_SECONDS = 5.0


class Errands:
    """Own the tasks of errands, each bounded in time, and those that last; what goes wrong in one harms nobody."""

    def __init__(self) -> None:
        self._tasks: asyncio.TaskGroup | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._lasting: asyncio.TaskGroup | None = None
        self._kept: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take errands while the block runs, and finish them before it is left, however that comes."""
        async with asyncio.TaskGroup() as tasks, asyncio.TaskGroup() as lasting:
            self._tasks, self._lasting = tasks, lasting
            try:
                yield
            finally:
                self._tasks = self._lasting = None
                for work in self._kept:
                    work.cancel()
                # The group would cancel them where its owner is cancelled.
                if self._open:
                    await asyncio.wait(self._open)

    def start(self, errand: Coroutine[None, None, None]) -> None:
        """Do an errand without waiting; it is dropped when none are taken any more."""
        if self._tasks is None:
            errand.close()
            return
        task = self._tasks.create_task(_bounded(errand))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    def keep(self, work: Coroutine[None, None, None]) -> asyncio.Task[None] | None:
        """Do something that has no end of its own; cancel what is returned to end it. None when it is too late."""
        if self._lasting is None:
            work.close()
            return None
        task = self._lasting.create_task(_logged(work))
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)
        # One that is cancelled before its first step has not begun the work.
        task.add_done_callback(lambda _: work.close())
        return task


async def _logged(work: Coroutine[None, None, None]) -> None:
    try:
        await work
    except Exception:
        # The fault is ours: what else is kept must not fall with it.
        log.exception("something that lasts has failed")


async def _bounded(errand: Coroutine[None, None, None]) -> None:
    try:
        async with asyncio.timeout(_SECONDS):
            await errand
    except (BackendFailed, TimeoutError) as error:
        log.debug("an errand failed", extra={"reason": type(error).__name__})
