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

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take errands while the block runs, and end them before it is left."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None

    def start(self, errand: Coroutine[None, None, None]) -> None:
        """Do an errand without waiting; it is dropped when none are taken any more."""
        if self._tasks is None:
            errand.close()
            return
        self._tasks.create_task(_bounded(errand))


async def _bounded(errand: Coroutine[None, None, None]) -> None:
    try:
        async with asyncio.timeout(_SECONDS):
            await errand
    except (BackendFailed, TimeoutError) as error:
        log.debug("an errand failed", extra={"reason": type(error).__name__})
