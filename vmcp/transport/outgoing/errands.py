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
        """Take errands while the block runs; when it is left, however that comes, they get a short time to end."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
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


async def _bounded(errand: Coroutine[None, None, None], seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await errand
    except (BackendFailed, TimeoutError) as error:
        log.debug("an errand failed", extra={"reason": type(error).__name__})
