"""Keep the store true for one kind, or one object of it: list, watch, and list anew where history is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from vmcp.clock import Clock
from vmcp.kube.client import ApiServer
from vmcp.kube.errors import CannotLogIn, Refused, Unreachable
from vmcp.kube.pace import Backoff, Pace, jittered
from vmcp.kube.reading import Event, Gone, Listed, Put, Scope, listed, watched
from vmcp.kube.store import Store
from vmcp.kube.sync import Phase, Sync
from vmcp.kube.trimming import Kept

log = logging.getLogger(__name__)

_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _EXPIRED, _TOO_MANY = 401, 403, 404, 410, 429
_SERVER_FAULTS = 500
_LONGEST_STAY_AWAY_SECONDS = 60.0
# A watch that breaks off and is open again within so long has missed nothing.
_MOMENT_SECONDS = 0.5


class Informer:
    """Follow one scope until cancelled; nothing that the server does ends it."""

    def __init__(
        self,
        server: ApiServer,
        scope: Scope,
        store: Store,
        *,
        clock: Clock,
        pace: Pace,
        told: Callable[[], None],
    ) -> None:
        self._server = server
        self._scope = scope
        self._store = store
        self._clock = clock
        self._pace = pace
        self._backoff = Backoff(pace)
        # A Role follows within moments, or not for long.
        self._denied = Backoff(replace(pace, first_seconds=pace.forbidden_seconds))
        self._version = scope.resource.versions[0]
        # From where the next watch begins; without it all is listed first.
        self._since: str | None = None
        # Since when what was known has not been found.
        self._missed_at: float | None = None
        self._is_away = False
        self._open_since = float("inf")
        self._told = told
        self.sync = Sync(Phase.STARTING, clock.now(), "", "", is_listed=False)

    async def run(self) -> None:
        """List and watch for ever."""
        while True:
            self._open_since = float("inf")
            try:
                await self._follow()
            except (Refused, Unreachable, CannotLogIn) as error:
                if self._was_open_for(self._pace.longest_seconds):
                    self._backoff.reset()
                pause = self._failed(error)
            except Exception as error:  # noqa: BLE001 - an object that nobody foresaw stops no other kind
                pause = self._broken(error)
            else:
                # A server that ends each watch at once is not asked without a pause.
                lasted = self._was_open_for(self._pace.first_seconds)
                pause = 0.0 if lasted else self._backoff.next()
            await asyncio.sleep(pause)

    def _was_open_for(self, seconds: float) -> bool:
        return self._clock.monotonic() - self._open_since >= seconds

    async def _follow(self) -> None:
        if self._since is None:
            self._take(await self._listed())
        events = watched(
            self._server, self._scope, self._version, since=self._since or "", pace=self._pace
        )
        async with aclosing(events):
            async for event in events:
                self._open_since = min(self._open_since, self._clock.monotonic())
                self._denied.reset()
                self._hear(event)

    async def _listed(self) -> Listed:
        *preferred, last = self._scope.resource.versions
        for version in preferred:
            try:
                found = await listed(self._server, self._scope, version, self._pace)
            except Refused as error:
                if error.status != _NOT_FOUND:
                    raise
            else:
                self._version = version
                return found
        found = await listed(self._server, self._scope, last, self._pace)
        self._version = last
        return found

    def _take(self, found: Listed) -> None:
        self._replace(found.found)
        self._since = found.since
        self._missed_at = None
        self._mark(Phase.SYNCED, "", is_listed=True)

    def _replace(self, found: tuple[Kept, ...]) -> None:
        name = self._scope.name
        among = None if name is None else frozenset({name})
        self._store.replace(self._scope.resource, found, among)

    def _hear(self, event: Event) -> None:
        match event.change:
            case Put(found):
                self._store.put(self._scope.resource, found)
            case Gone(name):
                self._store.drop(self._scope.resource, name)
            case None:
                pass
        self._since = event.since or self._since
        if event.change is not None:
            self._backoff.reset()
        self._mark(Phase.SYNCED, "", is_listed=True)

    def _failed(self, error: Refused | Unreachable | CannotLogIn) -> float:
        if not isinstance(error, Refused):
            self._is_away = True
            pause = self._backoff.next()
            if self._open_since < float("inf") and pause <= _MOMENT_SECONDS:
                # What stands between ends connections now and then: whether the server is away shows at once.
                return pause
            self._mark(Phase.FAILING, str(error), is_listed=self.sync.is_listed)
            return pause
        if self._is_away:
            # It answers again, if only that it is not ready: that takes moments.
            self._is_away = False
            self._backoff.reset()
        if error.status == _NOT_FOUND:
            return self._missed(error)
        if error.status == _FORBIDDEN:
            self._mark(Phase.FORBIDDEN, str(error), is_listed=self.sync.is_listed)
            return self._denied.next()
        if error.status not in (_UNAUTHORIZED, _TOO_MANY) and error.status < _SERVER_FAULTS:
            # 410 above all: what happened since is forgotten there.
            self._since = None
        if error.status != _EXPIRED:
            self._mark(Phase.FAILING, str(error), is_listed=self.sync.is_listed)
        return max(self._backoff.next(), min(error.retry_seconds, _LONGEST_STAY_AWAY_SECONDS))

    def _broken(self, error: Exception) -> float:
        # Its words may hold what the object holds.
        fault = f"An object of it could not be read: {type(error).__name__}."
        self._since = None
        self._mark(Phase.FAILING, fault, is_listed=self.sync.is_listed)
        return self._backoff.next()

    def _missed(self, error: Refused) -> float:
        self._since = None
        now = self._clock.monotonic()
        if self._missed_at is None:
            self._missed_at = now
        # A server that starts may not know yet what is installed, nor may what stands in front of it: what was
        # there goes when it has been missed for a while. Objects that are deleted with their kind go one by one.
        if self.sync.is_listed and now - self._missed_at < self._pace.not_installed_seconds:
            self._mark(Phase.FAILING, str(error), is_listed=True)
            return self._backoff.next()
        self._replace(())
        self._mark(Phase.NOT_INSTALLED, str(error), is_listed=False)
        return jittered(self._pace.not_installed_seconds)

    def _mark(self, phase: Phase, error: str, *, is_listed: bool) -> None:
        before = self.sync
        since = before.since if phase is before.phase else self._clock.now()
        version = self._version if is_listed else ""
        self.sync = Sync(phase, since, error, version, is_listed=is_listed)
        if phase is before.phase:
            return
        self._log(phase, error)
        self._told()

    def _log(self, phase: Phase, error: str) -> None:
        kind, name = str(self._scope.resource), self._scope.name
        extra = {"kind": kind, "phase": phase.value, **({"error": error} if error else {})}
        if name is not None:
            # Of what is followed by name there is much, and what it means for a backend is told as its Problem.
            log.debug("watch of an object changed", extra={**extra, "object": name})
            return
        if phase is Phase.SYNCED:
            log.info("a kind is known as it is now", extra=extra)
        else:
            log.warning("a kind is not known as it is now", extra=extra)
