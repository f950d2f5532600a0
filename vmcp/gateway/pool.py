"""One client for each backend of the snapshot: kept while the backend stays as it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from vmcp.gateway.inventories import Inventories
from vmcp.gateway.meter import Meter
from vmcp.gateway.ports import BackendClient
from vmcp.latest import Latest
from vmcp.model.backend import Backend
from vmcp.model.keys import ObjectKey
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.call import Client

log = logging.getLogger(__name__)

Make = Callable[[Backend], BackendClient]


@dataclass(slots=True)
class Member:
    """A backend's client, the task that runs it, how many calls are under way, and what they were like."""

    client: BackendClient
    task: asyncio.Task[None]
    meter: Meter
    calls: int = 0


class Pool:
    """Follow the snapshot: a change of one backend touches that backend alone."""

    def __init__(self, make: Make, inventories: Inventories) -> None:
        self._make = make
        self._inventories = inventories
        self.members: dict[ObjectKey, Member] = {}

    async def run(self, snapshots: Latest[Snapshot]) -> None:
        """Follow the snapshots until cancelled; then all backends are left, each in its own time."""
        async with asyncio.TaskGroup() as tasks:
            async for snapshot in snapshots.changes():
                self._follow(snapshot, tasks)

    def _follow(self, snapshot: Snapshot, tasks: asyncio.TaskGroup) -> None:
        wanted = snapshot.by_key()
        for key, member in list(self.members.items()):
            if wanted.get(key) != member.client.backend:
                del self.members[key]
                member.task.cancel()
                self._inventories.forget(key)
                log.info("backend removed", extra={"backend": key.name})
        for key, backend in wanted.items():
            if key not in self.members:
                client = self._make(backend)
                task = tasks.create_task(_run(client))
                self.members[key] = Member(client, task, Meter(monotonic()))
                log.info("backend added", extra={"backend": key.name})

    def calls_of(self, key: ObjectKey) -> int:
        """Return how many calls of a backend are under way."""
        member = self.members.get(key)
        return 0 if member is None else member.calls

    async def release(self, client: Client) -> None:
        """End what every backend keeps for a client."""
        await self._each(lambda backend: backend.release(client))

    async def notify(self, client: Client, method: str, params: bytes | None) -> None:
        """Pass a client's notification on to all backends that know it."""
        await self._each(lambda backend: backend.notify(client, method, params))

    async def set_level(self, client: Client) -> None:
        """Bring a client's log level to all backends that know it."""
        await self._each(lambda backend: backend.set_level(client))

    async def _each(self, act: Callable[[BackendClient], Awaitable[None]]) -> None:
        """Do something at every backend at once; one that fails or hangs keeps nobody."""
        async with asyncio.TaskGroup() as tasks:
            for member in self.members.values():
                tasks.create_task(_tried(member.client, act))


async def _run(client: BackendClient) -> None:
    try:
        await client.run()
    except Exception:
        # The fault is ours: the others must not fall with it.
        log.exception("backend's client failed", extra={"backend": client.backend.name})


_EACH_SECONDS = 5.0


async def _tried(backend: BackendClient, act: Callable[[BackendClient], Awaitable[None]]) -> None:
    try:
        async with asyncio.timeout(_EACH_SECONDS):
            await act(backend)
    except Exception as error:  # noqa: BLE001
        reason = type(error).__name__
        log.debug(
            "a backend was not told", extra={"backend": backend.backend.name, "reason": reason}
        )
