"""A VirtualMCPServer on the fake API server, and who reports on it; each request is written down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.report.pictures import GATEWAY, well
from tests.support.kube_api import FakeApi
from tests.support.kube_direct import DirectLogin
from vmcp.clock import Clock
from vmcp.kube.access import Request
from vmcp.kube.client import ApiServer
from vmcp.kube.elector import TERMS
from vmcp.kube.resource import LEASES
from vmcp.kube.trimming import Kept, keeping, kept
from vmcp.latest import Latest
from vmcp.report.entries import Picture
from vmcp.report.pace import PACE
from vmcp.report.reporter import Candidate, Cells, Report
from vmcp.report.subject import GATEWAYS

Object = dict[str, Any]
LEASE = "team-vmcp-status"


@dataclass(frozen=True)
class Wrote:
    """A request that changes something of the gateway's object, and when it came."""

    at: float
    path: str
    status: Object

    @property
    def entries(self) -> dict[str, Object]:
        return {each["name"]: each for each in self.status["discoveredBackends"]}

    @property
    def times(self) -> dict[str, str]:
        return {each["type"]: each["lastTransitionTime"] for each in self.status["conditions"]}


def _nothing(_: Request) -> None:
    """Let a request pass."""


@dataclass
class Desk:
    """The server with the object; `shown` is what the gateways know."""

    clock: Clock
    api: FakeApi = field(default_factory=FakeApi)
    wrote: list[Wrote] = field(default_factory=list)
    # Raises what befalls a request.
    befall: Callable[[Request], None] = field(default=_nothing)
    found: Object | None = None

    async def open(self) -> None:
        """Install the kinds, make the object and the empty Lease of the chart."""
        self.mend()
        await self.api.put(LEASES, "apps", {"metadata": {"name": LEASE}})
        await self.make()

    def mend(self) -> None:
        """Serve and allow everything."""
        self.api.install(GATEWAYS)
        self.api.install(LEASES)
        self.api.denied, self.api.failing = set(), 0
        self.befall = _nothing

    async def make(self, generation: int = 1) -> None:
        """Make the object, or change its generation."""
        metadata = {"name": "team", "generation": generation}
        version = GATEWAYS.api_version(GATEWAYS.versions[0])
        found = {"apiVersion": version, "kind": GATEWAYS.kind, "metadata": metadata}
        status = {} if self.found is None else {"status": self.found.get("status", {})}
        self.found = await self.api.put(GATEWAYS, "apps", {**found, **status})

    async def remove(self) -> None:
        """Delete the object."""
        self.found = None
        await self.api.delete(GATEWAYS, "apps", "team")

    def see(self) -> Kept | None:
        """Return the object as an informer keeps it."""
        return None if self.found is None else kept(self.found, keeping())

    def server(self) -> ApiServer:
        return ApiServer(DirectLogin(self.api, self._note), self.clock)

    def _note(self, request: Request) -> None:
        self.befall(request)
        if request.method == "PATCH" and request.body is not None:
            self.wrote.append(Wrote(self.clock.monotonic(), request.path, request.body["status"]))


@dataclass(frozen=True)
class Reporting:
    """A report with the cells that it reads."""

    report: Report
    cells: Cells
    ready: asyncio.Event

    def show(self, picture: Picture) -> None:
        """Have the gateway know something else."""
        self.cells.snapshot.set(picture.snapshot)
        self.cells.health.renew(picture.health)
        self.cells.known.set(picture.known)


def reporting(desk: Desk, identity: str = "a") -> Reporting:
    """Return a report that does not run yet, of a gateway that is ready and has one backend."""
    ready = asyncio.Event()
    ready.set()
    first = well("wiki")
    cells = Cells(Latest(first.snapshot), Latest(first.health), Latest(first.known), ready.wait)
    candidate = Candidate(identity, TERMS, PACE)
    report = Report(desk.server(), GATEWAY, desk.see, cells, clock=desk.clock, candidate=candidate)
    return Reporting(report, cells, ready)


@asynccontextmanager
async def running(made: Reporting) -> AsyncIterator[Reporting]:
    """Run a report for the block."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(made.report.run())
        yield made
        task.cancel()
