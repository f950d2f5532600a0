"""Follow the objects of a kind that are referred to, one by one, so that a Role with `resourceNames` suffices.

Each watch takes a connection. Past a number of them all of the namespace are watched as one where the Role allows
it; where it does not, those beyond the number are looked at now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from vmcp.clock import Clock
from vmcp.kube.bell import Bell
from vmcp.kube.client import ApiServer
from vmcp.kube.informer import Informer
from vmcp.kube.looks import Looks
from vmcp.kube.pace import Pace
from vmcp.kube.reading import Scope
from vmcp.kube.resource import Key
from vmcp.kube.store import Store
from vmcp.kube.sync import Phase, Sync

MOST_WATCHES = 64


@dataclass(frozen=True, slots=True)
class _Followed:
    informer: Informer
    task: asyncio.Task[None]
    names: frozenset[str]


class Named:
    """Keep the store true for the names that are referred to now."""

    def __init__(
        self,
        server: ApiServer,
        scope: Scope,
        store: Store,
        *,
        bell: Bell,
        clock: Clock,
        pace: Pace,
    ) -> None:
        self._scope = scope
        self._store = store
        self._bell = bell
        self._clock = clock
        self._inform = partial(Informer, server, store=store, clock=clock, pace=pace)
        self._looks = Looks(server, scope, store, bell=bell, clock=clock, pace=pace)
        self._names: frozenset[str] = frozenset()
        self._singles: dict[str, _Followed] = {}
        self._all: _Followed | None = None
        self._stirred = asyncio.Event()

    def refer(self, names: frozenset[str]) -> None:
        """Say which names are referred to from now on."""
        if names != self._names:
            self._names = names
            self._stirred.set()

    def sync(self, name: str) -> Sync:
        """Return how well an object that is referred to is known."""
        if name in self._singles:
            return self._singles[name].informer.sync
        if self._all is not None and self._all.informer.sync.phase is not Phase.FORBIDDEN:
            return self._all.informer.sync
        unknown = Sync(Phase.STARTING, self._clock.now(), "", "", is_listed=False)
        return self._looks.sync(name) or unknown

    def syncs(self) -> Mapping[str, Sync]:
        """Return the same for each name."""
        return {name: self.sync(name) for name in sorted(self._names)}

    async def run(self) -> None:
        """Open and close watches as references come and go, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._looks.run())
            while True:
                await self._stirred.wait()
                self._stirred.clear()
                self._adjust(group)

    def _adjust(self, group: asyncio.TaskGroup) -> None:
        self._adjust_all(group)
        wanted = self._wanted()
        for name in self._singles.keys() - wanted:
            self._singles.pop(name).task.cancel()
        for name in sorted(wanted - self._singles.keys()):
            told = partial(self._bell.ring, [Key(self._scope.resource, name)])
            self._singles[name] = self._open(group, frozenset({name}), name, told)
        phase = None if self._all is None else self._all.informer.sync.phase
        # Until that is told anew, what was looked at is not forgotten.
        if phase is not Phase.STARTING:
            is_refused = phase is Phase.FORBIDDEN
            self._looks.follow(self._names - wanted if is_refused else frozenset())
        for name in self._store.all(self._scope.resource).keys() - self._names:
            self._store.drop(self._scope.resource, name)

    def _adjust_all(self, group: asyncio.TaskGroup) -> None:
        followed = self._all
        is_wanted = len(self._names) > MOST_WATCHES
        # What it skipped so far is read only by listing anew.
        is_enough = followed is not None and self._names <= followed.names
        if followed is not None and not (is_wanted and is_enough):
            followed.task.cancel()
            self._all = None
        if is_wanted and self._all is None:
            self._all = self._open(group, self._names, None, self._told_of_all)
        elif self._all is not None:
            # What is forgotten now is not told again by that watch.
            self._all = replace(self._all, names=self._names)

    def _wanted(self) -> frozenset[str]:
        if self._all is None:
            return self._names
        sync = self._all.informer.sync
        if sync.phase is Phase.FORBIDDEN:
            in_order = sorted(self._names, key=lambda name: (name not in self._singles, name))
            return frozenset(in_order[:MOST_WATCHES])
        # Until all are known at once, those that are watched by themselves go on.
        return frozenset() if sync.is_listed else self._names & self._singles.keys()

    def _open(
        self,
        group: asyncio.TaskGroup,
        names: frozenset[str],
        name: str | None,
        told: Callable[[], None],
    ) -> _Followed:
        scope = replace(self._scope, name=name, names=names)
        informer = self._inform(scope=scope, told=told)
        return _Followed(informer, group.create_task(informer.run()), names)

    def _told_of_all(self) -> None:
        self._stirred.set()
        self._bell.ring(Key(self._scope.resource, name) for name in self._names)
