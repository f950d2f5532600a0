"""One client for each backend of the snapshot: kept while the backend is reached in the same way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from vmcp.gateway.inventories import Inventories
from vmcp.gateway.meter import Meter
from vmcp.gateway.ports import BackendClient
from vmcp.gateway.vitals import Vitals
from vmcp.latest import Latest
from vmcp.model.backend import Backend
from vmcp.model.keys import ObjectKey
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.call import Client

log = logging.getLogger(__name__)

Make = Callable[[Backend], BackendClient]
Replaced = Callable[[BackendClient, BackendClient], None]


@dataclass(slots=True)
class Member:
    """A backend's client, the task that runs it, how it fares, what its calls were like, and how many there are.

    `calls` leaves out those that wait for their client, `open` counts them too.
    """

    client: BackendClient
    task: asyncio.Task[None]
    meter: Meter
    vitals: Vitals
    calls: int = 0
    open: int = 0
    emptied: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self) -> None:
        """Take note of a call that begins."""
        self.calls += 1
        self.open += 1
        self.emptied.clear()

    def finish(self) -> None:
        """Take note of a call that has ended."""
        self.calls -= 1
        self.open -= 1
        if not self.open:
            self.emptied.set()


class Pool:
    """Follow the snapshot: a change of one backend touches that backend alone.

    A client that is replaced or removed lives on until its calls have ended.
    """

    def __init__(self, make: Make, inventories: Inventories) -> None:
        self._make = make
        self._inventories = inventories
        self.clock, self.health = inventories.clock, inventories.health
        self._replaced: Replaced | None = None
        self._leaving: list[Member] = []
        self.members: dict[ObjectKey, Member] = {}

    def on_replace(self, replaced: Replaced) -> None:
        """Say who hears of a client that stands in for another one."""
        self._replaced = replaced

    async def run(self, snapshots: Latest[Snapshot]) -> None:
        """Follow the snapshots until cancelled; then all backends are left, each in its own time."""
        async with asyncio.TaskGroup() as tasks:
            async for snapshot in snapshots.changes():
                self._follow(snapshot, tasks)

    def _follow(self, snapshot: Snapshot, tasks: asyncio.TaskGroup) -> None:
        wanted = snapshot.by_key()
        for key, member in list(self.members.items()):
            if key not in wanted:
                del self.members[key]
                self._inventories.forget(key)
                self._leave(member, tasks)
                log.info("backend removed", extra={"backend": key.name})
        for key, backend in wanted.items():
            known = self.members.get(key)
            if known is None:
                self._join(self._make(backend), Meter(self.clock.monotonic()), tasks)
                log.info("backend added", extra={"backend": key.name})
            elif known.client.backend != backend:
                self._change(known, backend, tasks)

    def _change(self, member: Member, backend: Backend, tasks: asyncio.TaskGroup) -> None:
        """Bring new settings to a backend; what it listed stays until the new client has listed."""
        before, is_kept = member.client, needs_no_connection(member.client.backend, backend)
        if is_kept:
            before.retune(backend)
        else:
            self.health.renew(backend.key)
            client = self._make(backend)
            client.succeed(before)
            self._join(client, member.meter, tasks)
            if self._replaced is not None:
                self._replaced(before, client)
            self._leave(member, tasks)
        fields = {"backend": backend.name, "connection": "kept" if is_kept else "new"}
        log.info("backend changed", extra=fields)

    def _join(self, client: BackendClient, meter: Meter, tasks: asyncio.TaskGroup) -> None:
        key, task = client.backend.key, tasks.create_task(_run(client))
        self.members[key] = Member(client, task, meter, self.health.of(key))

    def _leave(self, member: Member, tasks: asyncio.TaskGroup) -> None:
        member.client.retire()
        self._leaving.append(member)
        tasks.create_task(self._left(member))

    async def _left(self, member: Member) -> None:
        """End a client once its calls have ended, which their own deadlines bound."""
        try:
            while member.open:
                await member.emptied.wait()
        finally:
            self._leaving.remove(member)
            member.task.cancel()

    def client_of(self, key: ObjectKey) -> BackendClient | None:
        """Return the client of a backend, None where there is no such backend."""
        member = self.members.get(key)
        return None if member is None else member.client

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
            for member in (*self.members.values(), *self._leaving):
                tasks.create_task(_tried(member.client, act))


def needs_no_connection(before: Backend, now: Backend) -> bool:
    """Tell whether two states of a backend differ only in what the gateway itself looks at."""
    return before == replace(now, timeout_seconds=before.timeout_seconds, metadata=before.metadata)


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
