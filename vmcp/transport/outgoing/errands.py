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
        """Take errands while the block runs; when it is left, however that comes, they get a short time to end."""
        async with asyncio.TaskGroup() as tasks, asyncio.TaskGroup() as lasting:
            self._tasks, self._lasting = tasks, lasting
            try:
                yield
            finally:
                self._tasks = self._lasting = None
                for work in self._kept:
                    work.cancel()
                # The group would cancel them at once where its owner is cancelled.
                if self._open:
                    await asyncio.wait(self._open, timeout=_SECONDS)
                for task in self._open:
                    task.cancel()

    def start(self, errand: Coroutine[None, None, None], seconds: float = _SECONDS) -> bool:
        """Do an errand without waiting; it is dropped, and False, when none are taken any more."""
        if self._tasks is None:
            errand.close()
            return False
        task = self._tasks.create_task(_bounded(errand, seconds))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return True

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


async def _bounded(errand: Coroutine[None, None, None], seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await errand
    except (BackendFailed, TimeoutError) as error:
        log.debug("an errand failed", extra={"reason": type(error).__name__})
