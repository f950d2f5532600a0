"""Pictures of what a gateway knows, and what a report makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.gateway.builders import peer
from tests.support.virtual_time import START
from vmcp.model.auth import AuthSpec, NoAuth
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.health import (
    DEFAULT_HEALTH,
    BackendHealth,
    Circuit,
    CircuitSeen,
    HealthRules,
    LastFailure,
    Stage,
    State,
)
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot
from vmcp.report.drafts import LIMITS, Draft, Drafts, Limits
from vmcp.report.entries import Entries, Picture

GATEWAY = ObjectKey("VirtualMCPServer", "team", "apps")
REFUSED = LastFailure(Stage.PROBE, "Unreachable", "it refuses connections.", START, 1)


def entry_key(name: str, kind: str = "MCPServerEntry") -> ObjectKey:
    return ObjectKey(kind, name, "apps")


def backend(
    name: str,
    *,
    kind: str = "MCPServerEntry",
    url: str | None = None,
    auth: AuthSpec | None = None,
) -> Backend:
    where = HttpEndpoint(url or f"https://{name}.example.com/mcp")
    return Backend(entry_key(name, kind), name, where, 30.0, auth or NoAuth())


def health(
    state: State = State.HEALTHY,
    *,
    circuit: Circuit | None = None,
    failure: LastFailure | None = None,
    failures: int = 0,
    seconds: float = 0.0,
) -> BackendHealth:
    """Return how a backend fares that was checked so many seconds after the start."""
    return BackendHealth(
        state,
        START,
        consecutive_failures=failures,
        last_check=START + timedelta(seconds=seconds),
        last_failure=failure,
        circuit=None if circuit is None else CircuitSeen(circuit, START),
    )


def failing(state: State = State.UNHEALTHY, **more: Any) -> BackendHealth:
    return health(state, failure=replace(REFUSED, **more), failures=3)


def left_out(name: str, reason: str, message: str, kind: str = "MCPServerEntry") -> Problem:
    return Problem(entry_key(name, kind), reason, message)


def wrong(reason: str, message: str = "Correct it.") -> Problem:
    """Return a problem of the VirtualMCPServer itself."""
    return Problem(GATEWAY, reason, message)


def picture(
    *backends: Backend,
    health: Mapping[str, BackendHealth] | None = None,
    revisions: Mapping[str, str] | None = None,
    health_rules: HealthRules = DEFAULT_HEALTH,
    **more: Any,
) -> Picture:
    """Return a picture; `health` and `revisions` go by the names of backends, the rest to the snapshot."""
    keys = {each.name: each.key for each in backends}
    return Picture(
        Snapshot(tuple(sorted(backends, key=lambda each: each.name)), health=health_rules, **more),
        {keys[name]: each for name, each in (health or {}).items()},
        {
            keys[name]: Inventory(keys[name], replace(peer(), version=version))
            for name, version in (revisions or {}).items()
        },
    )


def well(*names: str, **more: Any) -> Picture:
    """Return a picture of backends that answer."""
    return picture(*map(backend, names), health=dict.fromkeys(names, health()), **more)


def entries(shown: Picture) -> dict[str, dict[str, Any]]:
    """Return the entries of a picture by their names."""
    return {each.name: dict(each.fields) for each in Entries().of(shown)}


def draft(shown: Picture, limits: Limits = LIMITS) -> Draft:
    return Drafts(GATEWAY, limits).of(shown, {}, generation=3, now=START)


def conditions(shown: Picture, limits: Limits = LIMITS) -> dict[str, dict[str, Any]]:
    """Return the conditions of a picture by their types."""
    return {each["type"]: each for each in draft(shown, limits).fields["conditions"]}
