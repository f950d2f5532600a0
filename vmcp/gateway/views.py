"""The catalog that each client sees, built anew when its inputs change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Protocol, assert_never

from vmcp.catalog.lookup import Catalog
from vmcp.gateway.rounds import Part, Round, Shown, first_round, next_round
from vmcp.latest import Latest
from vmcp.model.identity import Caller
from vmcp.model.inventory import Era, Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot
from vmcp.model.view import NamedView, OneBackend, View, Whole

log = logging.getLogger(__name__)

# Backends that start together, or tell of several changes, cost one catalog and one notification.
_COALESCE_SECONDS = 0.05


class Viewer(Protocol):
    """Who looks, and at what: a client, its session or its subscription."""

    @property
    def view(self) -> View:
        """The part of the whole that it uses."""
        ...

    @property
    def caller(self) -> Caller:
        """Who it is."""
        ...


class Views:
    """Build catalogs in a thread, so that calls go on; the newest wins.

    The whole and the named views are built in each round, a backend alone once somebody has asked for it.
    """

    def __init__(
        self, snapshot: Latest[Snapshot], known: Latest[Mapping[ObjectKey, Inventory]]
    ) -> None:
        self._snapshot = snapshot
        self._known = known
        self.made = first_round()
        self.catalog = Latest(self.made.whole.catalog)
        self.parts: Latest[Mapping[Part, Shown]] = Latest({})
        # What clients of a view that is no more are shown: nothing, and nothing of the whole either.
        self._nothing = self.made.whole
        self._asked: frozenset[OneBackend] = frozenset()
        self._bell = asyncio.Event()
        self._told: set[Problem] = set()

    @property
    def build_seconds(self) -> float:
        """How long the last round took."""
        return self.made.seconds

    @property
    def problems(self) -> frozenset[Problem]:
        """What is wrong with the whole and with the named views."""
        return self.made.problems

    def catalog_of(self, viewer: Viewer) -> Catalog:
        """Return what a client sees: nothing where its view is no more. Today all callers see the same."""
        view = viewer.view
        if isinstance(view, Whole):
            return self.catalog.value
        return self.parts.value.get(view, self._nothing).catalog

    def greeting_of(self, viewer: Viewer, era: Era) -> bytes:
        """Return what a client is told of us in an era: members as raw JSON."""
        return self._shown(viewer.view).greetings[era]

    def server_info_of(self, viewer: Viewer) -> bytes:
        """Return by which name we present ourselves to a client: a raw JSON object."""
        return self._shown(viewer.view).server_info

    def _shown(self, view: View) -> Shown:
        if isinstance(view, Whole):
            return self.made.whole
        return self.parts.value.get(view, self._nothing)

    def era_of(self, backend: ObjectKey) -> Era | None:
        """Return the era of a backend as it was found last: the catalog may still show an older one."""
        inventory = self._known.value.get(backend)
        return None if inventory is None else inventory.peer.era

    def has(self, view: View) -> bool:
        """Tell whether there is such a view, as far as it has been built."""
        return isinstance(view, Whole) or view in self.parts.value

    async def open(self, view: View) -> bool:
        """Tell whether there is such a view; once there is, it has been built."""
        if self.has(view):
            return True
        if not self._exists(view):
            return False
        if isinstance(view, OneBackend):
            self._asked |= {view}
        self._bell.set()
        async for parts in self.parts.changes():
            if view in parts or not self._exists(view):
                break
        return view in parts

    def _exists(self, view: View) -> bool:
        snapshot = self._snapshot.value
        match view:
            case Whole():
                return True
            case OneBackend():
                return any(backend.name == view.name for backend in snapshot.backends)
            case NamedView():
                return any(rules.name == view.name for rules in snapshot.views)
            case _:
                assert_never(view)

    async def run(self) -> None:
        """Follow the inputs until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_ring(self._snapshot, self._bell))
            tasks.create_task(_ring(self._known, self._bell))
            while True:
                await self._bell.wait()
                self._bell.clear()
                await self._build()
                await asyncio.sleep(_COALESCE_SECONDS)

    async def _build(self) -> None:
        before, snapshot = self.made, self._snapshot.value
        names = {backend.name for backend in snapshot.backends}
        self._asked = frozenset(one for one in self._asked if one.name in names)
        made = await asyncio.to_thread(next_round, before, snapshot, self._known.value, self._asked)
        self.made = made
        self.parts.renew(made.parts)
        if made.whole is not before.whole:
            self.catalog.renew(made.whole.catalog)
        self._tell(made)

    def _tell(self, made: Round) -> None:
        """Log each problem once, when it comes up."""
        found = {*made.problems, *made.snapshot.problems}
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


async def _ring(
    cell: Latest[Snapshot] | Latest[Mapping[ObjectKey, Inventory]], bell: asyncio.Event
) -> None:
    async for _ in cell.changes():
        bell.set()
