"""The parts of the running gateway as one thing that the incoming side is given."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from vmcp.config.loading import Loading
from vmcp.gateway.accounts import Accounts
from vmcp.gateway.dispatch import Dispatch
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.lag import Lag
from vmcp.gateway.parked import ParkedCalls
from vmcp.gateway.pool import Pool
from vmcp.gateway.ports import BackendClient, Telling
from vmcp.gateway.readiness import Readiness
from vmcp.gateway.registry import Registry
from vmcp.gateway.sessions import Sessions
from vmcp.gateway.views import Views
from vmcp.gateway.watchers import Watchers
from vmcp.latest import Latest
from vmcp.protocol.call import Client
from vmcp.protocol.failures import BackendFailed, Failure, Refusal
from vmcp.telemetry.metrics import Reading

log = logging.getLogger(__name__)

Gauge = Callable[[], Iterable[Reading]]


@dataclass(frozen=True, slots=True)
class Gateway:
    """What serves the clients; each part owns its own tasks and tables.

    `pseudonym` is what its requests to backends say of where they came through; `loading` tells how the
    config was read, `sources` where backends come from, `reports` who writes elsewhere what is known here.
    """

    pseudonym: str
    loading: Latest[Loading]
    registry: Registry
    inventories: Inventories
    pool: Pool
    views: Views
    watchers: Watchers
    sessions: Sessions
    parked: ParkedCalls
    dispatch: Dispatch
    readiness: Readiness
    sources: tuple[Telling, ...]
    refused: Counter[int] = field(default_factory=Counter)
    lag: Lag = field(default_factory=Lag)
    accounts: Accounts = field(default_factory=Accounts)
    gauges: list[Gauge] = field(default_factory=list)
    reports: list[Telling] = field(default_factory=list)

    def reader(self, client: Client, uri: str) -> BackendClient:
        """Return the client of the backend that serves a URI; raise UnknownName or BackendFailed."""
        key = self.dispatch.owner(client, uri)
        member = self.pool.members.get(key)
        if member is None:
            raise BackendFailed(key.name, "Unreachable", "it was removed.")
        return member.client

    async def notified(self, client: Client, method: str, params: bytes | None) -> None:
        """Pass on a client's notification: one that we do not know goes to the only backend there is."""
        if method in _PASSED_TO_ALL or len(self.views.catalog_of(client).backends) == 1:
            await self.pool.notify(client, method, params)

    def failed(self, method: str, failure: Failure, request_id: str) -> None:
        """Log a call that a backend failed; what clients do wrong is theirs to see."""
        if isinstance(failure, BackendFailed):
            fields = {"backend": failure.backend, "method": method, "reason": failure.reason}
            log.warning("call failed", extra={**fields, "request_id": request_id})
        elif not isinstance(failure, Refusal):
            # What a backend refuses has a code of its own making.
            self.refused[failure.code] += 1


_PASSED_TO_ALL = frozenset(("notifications/roots/list_changed", "notifications/progress"))
