"""Look now and then at objects that cannot be watched, each by its name."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from vmcp.clock import Clock
from vmcp.kube.bell import Bell
from vmcp.kube.client import ApiServer
from vmcp.kube.errors import CannotLogIn, Refused, Unreachable
from vmcp.kube.pace import Pace, jittered
from vmcp.kube.reading import Scope, listed
from vmcp.kube.resource import Key
from vmcp.kube.store import Store
from vmcp.kube.sync import Phase, Sync

_FORBIDDEN = 403
# However many there are, the server is not asked more often.
_SHORTEST_SECONDS = 0.1


class Looks:
    """Read names in turn, new ones first, those that wait longest next."""

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
        self._server = server
        self._scope = scope
        self._store = store
        self._bell = bell
        self._clock = clock
        self._pace = pace
        self._known: dict[str, Sync | None] = {}
        self._more = asyncio.Event()

    def follow(self, names: frozenset[str]) -> None:
        """Say which names are to be looked at from now on."""
        new = names - self._known.keys()
        rest = {name: sync for name, sync in self._known.items() if name in names}
        # The order of this table is that of the turns.
        self._known = {**dict.fromkeys(sorted(new)), **rest}
        if new:
            self._more.set()

    def sync(self, name: str) -> Sync | None:
        """Return how well an object is known; None where nobody has looked yet."""
        return self._known.get(name)

    async def run(self) -> None:
        """Look for ever."""
        while True:
            if not self._known:
                await self._more.wait()
            self._more.clear()
            name = next(iter(self._known), None)
            if name is None:
                continue
            if self._known[name] is not None:
                await self._rest()
            if name in self._known:
                await self._look(name)

    async def _rest(self) -> None:
        each = max(self._pace.poll_seconds / len(self._known), _SHORTEST_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(jittered(each)):
                await self._more.wait()

    async def _look(self, name: str) -> None:
        resource, names = self._scope.resource, frozenset({name})
        # By a selector as watches do: a path may lead elsewhere, for who refers to it writes the name.
        scope = replace(self._scope, name=name, names=names)
        try:
            told = await listed(self._server, scope, resource.versions[0], self._pace)
        except (Refused, Unreachable, CannotLogIn) as error:
            phase, words = _failed(error), str(error)
        else:
            self._store.replace(resource, told.found, names)
            phase, words = Phase.SYNCED, ""
        if name in self._known:
            self._mark(name, phase, words)

    def _mark(self, name: str, phase: Phase, error: str) -> None:
        before = self._known.pop(name)
        is_same = before is not None and before.phase is phase
        since = before.since if before is not None and is_same else self._clock.now()
        is_listed = phase is Phase.SYNCED or (before is not None and before.is_listed)
        version = self._scope.resource.versions[0] if is_listed else ""
        self._known[name] = Sync(phase, since, error, version, is_listed=is_listed)
        if not is_same:
            self._bell.ring([Key(self._scope.resource, name)])


def _failed(error: Refused | Unreachable | CannotLogIn) -> Phase:
    is_forbidden = isinstance(error, Refused) and error.status == _FORBIDDEN
    return Phase.FORBIDDEN if is_forbidden else Phase.FAILING
