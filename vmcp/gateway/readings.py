"""What /metrics tells of the gateway: its tables, read when somebody asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from vmcp import __version__
from vmcp.gateway.core import Gateway
from vmcp.gateway.meter import OUTCOMES
from vmcp.gateway.pool import Member
from vmcp.gateway.watchers import KINDS
from vmcp.model.backend import Backend
from vmcp.model.health import BackendHealth, Circuit, Stage, State
from vmcp.model.inventory import Inventory
from vmcp.telemetry import metrics
from vmcp.telemetry.metrics import Distribution, Metric, Reading
from vmcp.telemetry.sink import dropped_lines

_RELOADED = ("ok", "failed")


def readings(gateway: Gateway) -> Iterator[Reading]:
    """Yield the value of every metric of the gateway; one that is labelled by backends goes with its backend."""
    yield Reading(metrics.BUILD, (__version__,), 1)
    yield Reading(metrics.READY, (), int(gateway.readiness.is_ready))
    known, health = gateway.inventories.known.value, gateway.inventories.health.table.value
    for backend in gateway.registry.snapshot.value.backends:
        yield from _backend(backend, known.get(backend.key))
        yield from _state(backend.name, health.get(backend.key))
        failed = gateway.inventories.health.failed_checks(backend.key)
        yield from _checks(backend.name, failed)
        if (member := gateway.pool.members.get(backend.key)) is not None:
            yield from _traffic(backend.name, member)
    yield from _catalog(gateway)
    yield from _clients(gateway)
    yield from _config(gateway)
    yield Reading(metrics.LAG, (), gateway.lag.value)
    yield Reading(metrics.TASKS, (), gateway.lag.tasks)
    yield Reading(metrics.LINES_DROPPED, (), dropped_lines())
    spans = gateway.accounts.spans
    sent, lost = (0, 0) if spans is None else (spans.sent, spans.lost)
    yield from _by(metrics.SPANS, {"sent": sent, "lost": lost})


def all_readings(gateway: Gateway) -> Iterator[Reading]:
    """Yield those of the gateway, and those of whatever serves it."""
    yield from readings(gateway)
    for gauge in gateway.gauges:
        yield from gauge()


def _backend(backend: Backend, inventory: Inventory | None) -> Iterator[Reading]:
    era = "none" if inventory is None else inventory.peer.era.value
    yield Reading(metrics.BACKEND, (backend.name, backend.transport, era), 1)
    if inventory is not None:
        offers = {
            "tool": len(inventory.tools),
            "prompt": len(inventory.prompts),
            "resource": len(inventory.resources),
            "template": len(inventory.templates),
        }
        yield from _by(metrics.BACKEND_OFFERS, offers, backend.name)


def _state(name: str, health: BackendHealth | None) -> Iterator[Reading]:
    now = State.CONNECTING if health is None else health.state
    yield from _by(metrics.BACKEND_STATE, {each.value: int(each is now) for each in State}, name)
    if health is not None and health.circuit is not None:
        seen = health.circuit.state
        states = {each.value: int(each is seen) for each in Circuit}
        yield from _by(metrics.BACKEND_CIRCUIT, states, name)


def _checks(name: str, failed: Mapping[Stage, int]) -> Iterator[Reading]:
    counts = {each.value: failed.get(each, 0) for each in Stage if each is not Stage.CALL}
    yield from _by(metrics.FAILED_CHECKS, counts, name)


def _traffic(name: str, member: Member) -> Iterator[Reading]:
    yield Reading(metrics.CALLS_UNDER_WAY, (name,), member.calls)
    for method, tally in member.meter.tallies.items():
        outcomes = dict(zip(OUTCOMES, tally.outcomes, strict=True))
        yield from _by(metrics.CALLS, outcomes, name, method)
        took = Distribution(tuple(tally.buckets), tally.seconds)
        yield Reading(metrics.CALL_SECONDS, (name, method), took)
    yield from _by(metrics.CALL_FAILURES, dict(member.meter.reasons), name)


def _catalog(gateway: Gateway) -> Iterator[Reading]:
    catalog, snapshot = gateway.views.catalog.value, gateway.registry.snapshot.value
    sizes = {
        "tool": len(catalog.tools),
        "prompt": len(catalog.prompts),
        "resource": len(catalog.resources),
        "template": len(catalog.templates),
    }
    yield from _by(metrics.CATALOG, sizes)
    yield Reading(metrics.CATALOG_SECONDS, (), gateway.views.build_seconds)
    reasons = Counter(each.reason for each in {*snapshot.problems, *catalog.problems})
    yield from _by(metrics.PROBLEMS, reasons)


def _clients(gateway: Gateway) -> Iterator[Reading]:
    yield Reading(metrics.SESSIONS, (), len(gateway.sessions))
    yield Reading(metrics.STREAMS, ("session",), gateway.sessions.streams)
    yield Reading(metrics.WATCHED, (), gateway.watchers.watched)
    yield Reading(metrics.CALLS_PARKED, (), len(gateway.parked))
    changes = {kind: gateway.watchers.changes[kind] for kind in KINDS}
    yield from _by(metrics.LIST_CHANGED, changes)
    for code, count in gateway.refused.items():
        yield Reading(metrics.REFUSED, (str(code),), count)


def _config(gateway: Gateway) -> Iterator[Reading]:
    loading = gateway.loading.value
    outcomes = dict(zip(_RELOADED, (loading.reloads, loading.failures), strict=True))
    yield from _by(metrics.RELOADS, outcomes)
    yield Reading(metrics.LOADED, (), loading.loaded_at.timestamp())


def _by(metric: Metric, values: dict[str, int], *labels: str) -> Iterator[Reading]:
    """Yield a reading for each value of the metric's last label."""
    for label, value in values.items():
        yield Reading(metric, (*labels, label), value)
