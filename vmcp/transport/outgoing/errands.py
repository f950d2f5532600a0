"""Small things that must still be done when nobody waits for them: farewells and cancellations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from vmcp.protocol.failures import BackendFailed

log = logging.getLogger(__name__)

_SECONDS = 5.0


class Errands:
    """Own the tasks of errands; each is bounded in time, and what goes wrong in it harms nobody."""

    def __init__(self) -> None:
        self._tasks: asyncio.TaskGroup | None = None
        self._open: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take errands while the block runs, and finish them before it is left, however that comes."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
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


async def _bounded(errand: Coroutine[None, None, None]) -> None:
    try:
        async with asyncio.timeout(_SECONDS):
            await errand
    except (BackendFailed, TimeoutError) as error:
        log.debug("an errand failed", extra={"reason": type(error).__name__})
