"""The backends of a gateway as the entries of `status.discoveredBackends`, those that are left out included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from vmcp.crd.world import MEMBERS
from vmcp.gateway.status import shown_auth
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.health import BackendHealth, Circuit, LastFailure, State
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot
from vmcp.report.text import cut, shown_url, written

# Of two objects with one name, what is said of the earlier kind comes first.
_KINDS = (*MEMBERS, "Backend")
_MOST_MESSAGE = 512
_MOST_URL = 1024

_Problems = tuple[Problem, ...]


class Standing(Enum):
    """How a backend stands, in the words of the custom resource."""

    READY = "ready"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"
    UNAUTHENTICATED = "unauthenticated"
    UNKNOWN = "unknown"

    @property
    def is_usable(self) -> bool:
        """Whether clients are offered what it has, and their calls reach it."""
        return self in (Standing.READY, Standing.DEGRADED)

    @property
    def is_failing(self) -> bool:
        """Whether somebody has to look after it."""
        return self not in (Standing.READY, Standing.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Picture:
    """What the gateway knows of its backends at one moment."""

    snapshot: Snapshot
    health: Mapping[ObjectKey, BackendHealth]
    known: Mapping[ObjectKey, Inventory]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its fields as they are written, how large they are, and what of it is worth a write by itself."""

    name: str
    standing: Standing
    fields: Mapping[str, Any]
    news: tuple[object, ...]
    size: int
    is_unhealthy: bool


class _Base(NamedTuple):
    """What a snapshot says of one name."""

    name: str
    backend: Backend | None
    auth: Mapping[str, str]
    left_out: _Problems


class _Case(NamedTuple):
    """All that an entry is made of; a tuple compares what is the same object at once."""

    base: _Base
    health: BackendHealth | None
    revision: str | None


class Entries:
    """Makes the entries of one picture after the other, and of each only those that differ from before."""

    def __init__(self) -> None:
        self._snapshot = Snapshot()
        self._bases: tuple[_Base, ...] = ()
        self._made: dict[str, tuple[_Case, Entry]] = {}

    def of(self, picture: Picture) -> tuple[Entry, ...]:
        """Return an entry for each name, in order."""
        if picture.snapshot is not self._snapshot:
            self._snapshot, self._bases = picture.snapshot, _bases(picture.snapshot)
        made: dict[str, tuple[_Case, Entry]] = {}
        for base in self._bases:
            case = _case(base, picture)
            before = self._made.get(base.name)
            is_same = before is not None and before[0] == case
            made[base.name] = before if before and is_same else (case, _entry(case))
        self._made = made
        return tuple(entry for _, entry in made.values())


def _bases(snapshot: Snapshot) -> tuple[_Base, ...]:
    left_out = _left_out(snapshot)
    found = {
        each.name: _Base(each.name, each, shown_auth(each, snapshot), left_out.pop(each.name, ()))
        for each in snapshot.backends
    }
    found |= {name: _Base(name, None, {}, each) for name, each in left_out.items()}
    return tuple(found[name] for name in sorted(found))


def _case(base: _Base, picture: Picture) -> _Case:
    if base.backend is None:
        return _Case(base, None, None)
    key = base.backend.key
    inventory = picture.known.get(key)
    return _Case(
        base, picture.health.get(key), None if inventory is None else inventory.peer.version
    )


def _left_out(snapshot: Snapshot) -> dict[str, _Problems]:
    """Return the problems of members that are no backends, by the names that they would have."""
    keys = {each.key for each in snapshot.backends}
    found: dict[str, list[Problem]] = {}
    for problem in snapshot.problems:
        if is_member(problem.key) and problem.key not in keys:
            found.setdefault(problem.key.name, []).append(problem)
    return {name: tuple(sorted(each, key=_claim)) for name, each in found.items()}


def is_member(key: ObjectKey) -> bool:
    """Tell whether an object is, or would be, a backend."""
    return key.kind in _KINDS


def _claim(problem: Problem) -> tuple[int, Problem]:
    return _KINDS.index(problem.key.kind), problem


def _entry(case: _Case) -> Entry:
    base = case.base
    if base.backend is None:
        key = base.left_out[0].key
        message = cut(_told(base.left_out, key), _MOST_MESSAGE)
        fields = {"name": base.name, "status": Standing.UNAVAILABLE.value, "message": message}
        return _made(case, Standing.UNAVAILABLE, fields, (message,))
    return _of_backend(case, base.backend)


def _of_backend(case: _Case, backend: Backend) -> Entry:
    health, stands = case.health, standing(case.health)
    base = case.base
    beside = _told(base.left_out, backend.key)
    steady = {
        "name": base.name,
        "status": stands.value,
        "url": _url(backend),
        "authConfigRef": base.auth.get("config"),
        "authType": base.auth["type"],
        "mcpRevision": case.revision,
        **_circuit(health),
    }
    message = " ".join(each for each in (_message(stands, health), beside) if each)
    # What a backend says of a failure may differ each time; only another reason is news.
    news = (*steady.values(), _reason(stands, health), beside)
    fields = {**steady, "message": cut(message, _MOST_MESSAGE), **_checks(health)}
    return _made(case, stands, fields, news)


def _made(
    case: _Case, stands: Standing, fields: Mapping[str, Any], news: tuple[object, ...]
) -> Entry:
    filled = {key: value for key, value in fields.items() if value is not None}
    return Entry(
        case.base.name,
        stands,
        filled,
        news=(case.base.name, *news),
        size=len(msgspec.json.encode(filled)),
        is_unhealthy=case.health is not None and case.health.state is State.UNHEALTHY,
    )


_STANDINGS: Mapping[State, Standing] = {
    State.CONNECTING: Standing.UNKNOWN,
    State.HEALTHY: Standing.READY,
    State.DEGRADED: Standing.DEGRADED,
    State.UNHEALTHY: Standing.UNAVAILABLE,
    State.UNAUTHENTICATED: Standing.UNAUTHENTICATED,
}
# A circuit that is not closed keeps calls away from a backend, even if it answers checks.
_BY_CIRCUIT: Mapping[Circuit, Standing] = {
    Circuit.HALF_OPEN: Standing.DEGRADED,
    Circuit.OPEN: Standing.UNAVAILABLE,
}


def standing(health: BackendHealth | None) -> Standing:
    """Return how a backend stands."""
    if health is None:
        return Standing.UNKNOWN
    found = _STANDINGS[health.state]
    if found.is_usable and health.circuit is not None:
        return _BY_CIRCUIT.get(health.circuit.state, found)
    return found


def _message(stands: Standing, health: BackendHealth | None) -> str:
    if stands is Standing.READY:
        return "It answers."
    if health is None or stands is Standing.UNKNOWN:
        return "It has not answered yet."
    told = [_circuit_told(health), _failure(health.last_failure)]
    return " ".join(each for each in told if each)


def _circuit_told(health: BackendHealth) -> str:
    match health.circuit.state if health.circuit else Circuit.CLOSED:
        case Circuit.CLOSED:
            return ""
        case Circuit.OPEN:
            return "CircuitOpen: it failed again and again, so it gets no calls for a while."
        case Circuit.HALF_OPEN:
            return "CircuitHalfOpen: one call finds out whether it is back."


def _failure(failure: LastFailure | None) -> str:
    return "" if failure is None else f"{failure.reason}: {failure.message}"


def _reason(stands: Standing, health: BackendHealth | None) -> str | None:
    failure = None if health is None or not stands.is_failing else health.last_failure
    return None if failure is None else failure.reason


def _told(problems: Iterable[Problem], key: ObjectKey) -> str:
    """Return what is wrong with an object, and with others of its name."""
    return " ".join(
        f"{each.reason}: {each.message}"
        if each.key == key
        else f"{each.key.kind} '{each.key.name}' is left out: {each.reason}: {each.message}"
        for each in problems
    )


def _url(backend: Backend) -> str | None:
    if not isinstance(backend.endpoint, HttpEndpoint):
        return None
    found = shown_url(backend.endpoint.url)
    return None if found is None else cut(found, _MOST_URL)


def _circuit(health: BackendHealth | None) -> Mapping[str, str]:
    if health is None or health.circuit is None:
        return {}
    since = written(health.circuit.since)
    return {"circuitBreakerState": health.circuit.state.value, "circuitLastChanged": since}


def _checks(health: BackendHealth | None) -> Mapping[str, object]:
    if health is None:
        return {}
    last = health.last_check
    return {
        "lastHealthCheck": None if last is None else written(last),
        "consecutiveFailures": health.consecutive_failures,
    }
