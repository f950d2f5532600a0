"""Has one of several gateways write the status of their VirtualMCPServer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from vmcp.clock import Clock
from vmcp.gateway.core import Gateway
from vmcp.kube.client import ApiServer
from vmcp.kube.elector import Elector, Terms
from vmcp.kube.trimming import Kept
from vmcp.latest import Latest
from vmcp.model.health import BackendHealth
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.snapshot import Snapshot
from vmcp.report.entries import Picture
from vmcp.report.pace import Pace
from vmcp.report.subject import subject
from vmcp.report.told import Told
from vmcp.report.writer import Writer

log = logging.getLogger(__name__)

See = Callable[[], Kept | None]


@dataclass(frozen=True, slots=True)
class Cells:
    """What is read of a gateway; `reached` returns once its first round of lists is over."""

    snapshot: Latest[Snapshot]
    health: Latest[Mapping[ObjectKey, BackendHealth]]
    known: Latest[Mapping[ObjectKey, Inventory]]
    reached: Callable[[], Awaitable[None]]


def cells(gateway: Gateway) -> Cells:
    """Return what is read of a gateway."""
    inventories = gateway.inventories
    return Cells(
        gateway.registry.snapshot,
        inventories.health.table,
        inventories.known,
        gateway.readiness.reached,
    )


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who we are among the gateways of one object, and on which terms one of us writes."""

    identity: str
    terms: Terms
    pace: Pace


class Report:
    """Tells what a gateway knows of its backends, from when it is ready and as long as it holds the Lease.

    `see` returns the object as it is known, None where it is not there. The server is closed at the end.
    """

    def __init__(
        self,
        server: ApiServer,
        key: ObjectKey,
        see: See,
        cells: Cells,
        *,
        clock: Clock,
        candidate: Candidate,
    ) -> None:
        """Take the namespace and the name of the object from `key`."""
        self._server = server
        self._key = key
        self._see = see
        self._cells = cells
        self._pace = candidate.pace
        self.state = Latest(Told())
        self._writer = Writer(server, key, self.state, clock=clock, pace=candidate.pace)
        self._elector = Elector(
            server,
            key.namespace,
            f"{key.name}-vmcp-status",
            identity=candidate.identity,
            clock=clock,
            terms=candidate.terms,
        )
        self._moved = asyncio.Event()

    def told(self) -> Mapping[str, object]:
        """Return what operators of the gateway are told of the report."""
        return {"object": str(self._key), **self.state.value.shown()}

    async def run(self) -> None:
        """Report until cancelled; then give the Lease back."""
        try:
            # Whoever has written so far knows more than we do before we are ready.
            await self._cells.reached()
            while True:
                await self._work()
                await asyncio.sleep(self._pace.longest_seconds)
        finally:
            await self._server.close()

    async def _work(self) -> None:
        """Run all parts; what goes wrong here is no reason to stop serving."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._hear(self._cells.snapshot))
                tasks.create_task(self._hear(self._cells.health))
                tasks.create_task(self._hear(self._cells.known))
                tasks.create_task(self._tell_of_lease())
                tasks.create_task(self._follow_lease())
                tasks.create_task(self._elector.run())
        except Exception:
            log.exception("the report of the status has failed")

    async def _hear(self, cell: Latest[Any]) -> None:
        async for _ in cell.changes():
            self._moved.set()

    async def _tell_of_lease(self) -> None:
        async for error in self._elector.error.changes():
            self.state.set(replace(self.state.value, lease_error=error))

    async def _follow_lease(self) -> None:
        async for leads in self._elector.is_leader.changes():
            self.state.set(replace(self.state.value, is_leader=leads))
            if leads:
                await self._lead()

    async def _lead(self) -> None:
        """Write until the Lease is lost."""
        self._writer.forget()
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._keep_written())
            async for leads in self._elector.is_leader.changes():
                if not leads:
                    writing.cancel()
                    return

    async def _keep_written(self) -> None:
        while True:
            pause = await self._writer.write(subject(self._see()), self._picture())
            if pause is None:
                await self._rung()
                pause = self._pace.settle_seconds
            await asyncio.sleep(pause)

    def _picture(self) -> Picture:
        self._moved.clear()
        cells = self._cells
        return Picture(cells.snapshot.value, cells.health.value, cells.known.value)

    async def _rung(self) -> None:
        """Wait until the gateway knows something else, or it is time to look at the object."""
        try:
            async with asyncio.timeout(self._pace.poll_seconds):
                await self._moved.wait()
        except TimeoutError:
            return
