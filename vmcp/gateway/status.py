"""What the gateway says of itself to operators: JSON without URLs and secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

import msgspec

from vmcp import __version__
from vmcp.catalog.lookup import Catalog
from vmcp.config.loading import shown as loaded
from vmcp.gateway.core import Gateway
from vmcp.gateway.pool import Member
from vmcp.gateway.views import Views
from vmcp.model.auth import UNDECIDED, AuthSpec, BearerToken, HeaderInjection, NoAuth
from vmcp.model.backend import Backend
from vmcp.model.fingerprint import fingerprint
from vmcp.model.health import BackendHealth, LastFailure, State
from vmcp.model.inventory import Inventory
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot
from vmcp.model.view import NamedView


def status(gateway: Gateway) -> bytes:
    """Return the state of everything as JSON."""
    own = {*gateway.registry.snapshot.value.problems}
    problems = sorted({*own, *gateway.views.problems})
    told = [_problem(each) if each in own else _of_lists(each) for each in problems]
    shown = {**_overview(gateway), "problems": told}
    return msgspec.json.encode(shown)


def live(gateway: Gateway, revision: int) -> bytes:
    """Return what changes from second to second as JSON; `revision` tells when to look at the rest again."""
    return msgspec.json.encode({**_overview(gateway), "revision": revision})


def _overview(gateway: Gateway) -> dict[str, object]:
    catalog, loading = gateway.views.catalog.value, gateway.loading.value
    known, vitals = gateway.inventories.known.value, gateway.inventories.health
    health = vitals.table.value
    snapshot = gateway.registry.snapshot.value
    return {
        "name": loading.name,
        "version": __version__,
        "ready": gateway.readiness.is_ready,
        "closed": snapshot.closed and _problem(snapshot.closed),
        "withheldBy": vitals.withholding(each.key for each in snapshot.backends),
        "sessions": len(gateway.sessions),
        "config": loaded(loading),
        "sources": [each.told() for each in gateway.sources],
        "reports": [each.told() for each in gateway.reports],
        "catalog": {**_counts(catalog), "buildSeconds": round(gateway.views.build_seconds, 4)},
        "views": [*_views(gateway.views)],
        "backends": [
            {
                **_backend(each, known.get(each.key)),
                "auth": shown_auth(each, snapshot),
                **_health(health.get(each.key)),
                **_traffic(gateway.pool.members.get(each.key), gateway.pool.clock.monotonic()),
            }
            for each in snapshot.backends
        ],
    }


def _views(views: Views) -> Iterator[Mapping[str, object]]:
    """Yield what each named view shows."""
    for view, part in views.parts.value.items():
        if isinstance(view, NamedView):
            yield {"name": view.name, **_counts(part.catalog)}


def _counts(catalog: Catalog) -> dict[str, int]:
    return {
        "tools": len(catalog.tools),
        "prompts": len(catalog.prompts),
        "resources": len(catalog.resources),
        "resourceTemplates": len(catalog.templates),
    }


def _backend(backend: Backend, inventory: Inventory | None) -> dict[str, object]:
    shown: dict[str, object] = {
        "name": backend.name,
        "object": str(backend.key),
        "fingerprint": fingerprint(backend),
        "transport": backend.transport,
        "metadata": dict(backend.metadata),
    }
    if inventory is not None:
        shown.update(_listed(inventory))
    return shown


def shown_auth(backend: Backend, snapshot: Snapshot) -> Mapping[str, str]:
    """Return what kind of credential a backend gets, and who decided so."""
    decision = snapshot.decisions.get(backend.key, UNDECIDED)
    named = {} if decision.config is None else {"config": decision.config}
    return {"type": _auth_type(backend.auth), "from": decision.origin.value, **named}


def _auth_type(auth: AuthSpec) -> str:
    match auth:
        case NoAuth():
            return "unauthenticated"
        case HeaderInjection():
            return "headerInjection"
        case BearerToken():
            return "bearerToken"
        case _:
            assert_never(auth)


def _listed(inventory: Inventory) -> Mapping[str, object]:
    peer = inventory.peer
    return {
        "era": peer.era.value,
        "protocolVersion": peer.version,
        "serverInfo": msgspec.Raw(peer.server_info),
        "tools": len(inventory.tools),
        "prompts": len(inventory.prompts),
        "resources": len(inventory.resources),
        "resourceTemplates": len(inventory.templates),
    }


def _health(health: BackendHealth | None) -> Mapping[str, object]:
    if health is None:
        return {"state": State.CONNECTING.value}
    circuit = health.circuit
    return {
        "state": health.state.value,
        "since": health.since,
        "consecutiveFailures": health.consecutive_failures,
        "lastCheck": health.last_check,
        "lastFailure": health.last_failure and _last_failure(health.last_failure),
        "circuitBreaker": circuit and {"state": circuit.state.value, "since": circuit.since},
    }


def _last_failure(failure: LastFailure) -> Mapping[str, object]:
    return {
        "stage": failure.stage.value,
        "reason": failure.reason,
        "message": failure.message,
        "at": failure.at,
        "count": failure.count,
    }


def _traffic(member: Member | None, now: float) -> Mapping[str, object]:
    if member is None:
        return {"calls": 0}
    figures = member.meter.figures(now)
    return {
        "calls": member.calls,
        "called": figures.called,
        "failed": figures.failed,
        "lastMinute": {
            "callsPerSecond": round(figures.calls_per_second, 2),
            "failuresPerSecond": round(figures.failures_per_second, 2),
            "p50Milliseconds": _milliseconds(figures.p50_seconds),
            "p99Milliseconds": _milliseconds(figures.p99_seconds),
        },
    }


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 2)


def _problem(problem: Problem) -> dict[str, str]:
    return {"object": str(problem.key), "reason": problem.reason, "message": problem.message}


def _of_lists(problem: Problem) -> dict[str, str]:
    """Return a problem that shows only when the lists of backends are known."""
    return {**_problem(problem), "about": "lists"}
