"""How the backends of a gateway fare, as tests ask for it."""

from __future__ import annotations

from vmcp.gateway.core import Gateway
from vmcp.model.health import BackendHealth, LastFailure


def health_of(gateway: Gateway, name: str) -> BackendHealth:
    """Return how a backend fares."""
    table = gateway.inventories.health.table.value
    return next(seen for key, seen in table.items() if key.name == name)


def failures(gateway: Gateway) -> dict[str, LastFailure]:
    """Return what went wrong last with each backend that has failed."""
    table = gateway.inventories.health.table.value
    return {key.name: seen.last_failure for key, seen in table.items() if seen.last_failure}
