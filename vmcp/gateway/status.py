"""What the gateway says of itself to operators: JSON without URLs and secrets."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vmcp import __version__
from vmcp.catalog.lookup import Catalog
from vmcp.gateway.core import Gateway
from vmcp.gateway.inventories import Fare
from vmcp.model.backend import Backend, StdioEndpoint
from vmcp.model.inventory import Inventory
from vmcp.model.problem import Problem


def status(gateway: Gateway, name: str) -> bytes:
    """Return the state of everything as JSON."""
    catalog = gateway.views.catalog.value
    snapshot = gateway.registry.snapshot.value
    known, fares = gateway.inventories.known.value, gateway.inventories.fares.value
    problems = sorted({*snapshot.problems, *catalog.problems})
    return msgspec.json.encode(
        {
            "name": name,
            "version": __version__,
            "ready": gateway.readiness.is_ready,
            "sessions": len(gateway.sessions),
            "catalog": {**_counts(catalog), "buildSeconds": round(gateway.views.build_seconds, 4)},
            "backends": [
                _backend(
                    each, known.get(each.key), fares.get(each.key), gateway.pool.calls_of(each.key)
                )
                for each in snapshot.backends
            ],
            "problems": [_problem(each) for each in problems],
        }
    )


def _counts(catalog: Catalog) -> dict[str, int]:
    return {
        "tools": len(catalog.tools),
        "prompts": len(catalog.prompts),
        "resources": len(catalog.resources),
        "resourceTemplates": len(catalog.templates),
    }


def _backend(
    backend: Backend, inventory: Inventory | None, fare: Fare | None, calls: int
) -> dict[str, object]:
    shown: dict[str, object] = {
        "name": backend.name,
        "transport": "stdio" if isinstance(backend.endpoint, StdioEndpoint) else "streamable-http",
        "state": "connecting" if fare is None else "ready" if fare.is_ready else "failing",
        "calls": calls,
        "metadata": dict(backend.metadata),
    }
    if fare is not None:
        shown.update(since=fare.since, reason=fare.reason, message=fare.message)
    if inventory is not None:
        shown.update(_listed(inventory))
    return shown


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


def _problem(problem: Problem) -> dict[str, str]:
    return {"object": str(problem.key), "reason": problem.reason, "message": problem.message}
