"""The catalog that each caller sees, built anew when its inputs change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from vmcp.catalog.build import build
from vmcp.catalog.lookup import Catalog
from vmcp.gateway.greeting import greeting
from vmcp.latest import Latest
from vmcp.model.identity import Caller
from vmcp.model.inventory import Era, Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot

log = logging.getLogger(__name__)

# Backends that start together, or tell of several changes, cost one catalog and one notification.
_COALESCE_SECONDS = 0.05


class Views:
    """Build catalogs in a thread, so that calls go on; the newest wins."""

    def __init__(
        self, snapshot: Latest[Snapshot], known: Latest[Mapping[ObjectKey, Inventory]]
    ) -> None:
        self._snapshot = snapshot
        self._known = known
        self.catalog = Latest(build(Snapshot(), {}))
        self._greetings = _greetings(self.catalog.value, Snapshot())
        self.build_seconds = 0.0
        self._told: set[Problem] = set()

    def catalog_of(self, _caller: Caller) -> Catalog:
        """Return the catalog of a caller; today all see the same."""
        return self.catalog.value

    def greeting_of(self, _caller: Caller, era: Era) -> bytes:
        """Return what a caller is told of us in an era: members as raw JSON."""
        return self._greetings[era]

    def era_of(self, backend: ObjectKey) -> Era | None:
        """Return the era of a backend as it was found last: the catalog may still show an older one."""
        inventory = self._known.value.get(backend)
        return None if inventory is None else inventory.peer.era

    async def run(self) -> None:
        """Follow the inputs until cancelled."""
        bell = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_ring(self._snapshot, bell))
            tasks.create_task(_ring(self._known, bell))
            while True:
                await bell.wait()
                bell.clear()
                await self._build()
                await asyncio.sleep(_COALESCE_SECONDS)

    async def _build(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        made = await asyncio.to_thread(_made, self._snapshot.value, self._known.value)
        catalog, self._greetings = made
        self.build_seconds = loop.time() - began
        self.catalog.renew(catalog)
        self._tell(catalog)

    def _tell(self, catalog: Catalog) -> None:
        """Log each problem once, when it comes up."""
        found = {*catalog.problems, *self._snapshot.value.problems}
        for problem in sorted(found - self._told):
            log.warning(
                "problem",
                extra={
                    "object": str(problem.key),
                    "reason": problem.reason,
                    "detail": problem.message,
                },
            )
        self._told = found


def _made(
    snapshot: Snapshot, known: Mapping[ObjectKey, Inventory]
) -> tuple[Catalog, Mapping[Era, bytes]]:
    catalog = build(snapshot, known)
    return catalog, _greetings(catalog, snapshot)


def _greetings(catalog: Catalog, snapshot: Snapshot) -> Mapping[Era, bytes]:
    return {era: greeting(catalog, snapshot, era) for era in Era}


async def _ring(
    cell: Latest[Snapshot] | Latest[Mapping[ObjectKey, Inventory]], bell: asyncio.Event
) -> None:
    async for _ in cell.changes():
        bell.set()
