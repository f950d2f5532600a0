"""How long the gateway takes to build a catalog of many backends when one of them has changed.

Prints one JSON object: rounds, p50_ms, p99_ms, tools.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from time import perf_counter

from benchmarks.load import quantile_ms
from benchmarks.tools import document, tool_name
from vmcp.catalog.build import build
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.inventory import Era, Inventory, Peer, Tool
from vmcp.model.keys import ObjectKey
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.document import split

_PEER = Peer(Era.STATELESS, "2026-07-28", split(b'{"tools":{}}'), b"{}")


def inventory_of(name: str, tools: int) -> Inventory:
    """Return what an echo backend of this name lists."""
    listed = [Tool(tool_name(n), split(document(name, n))) for n in range(tools)]
    return Inventory(ObjectKey("Backend", name), _PEER, tools=tuple(listed))


def measure(backends: int, tools: int, rounds: int) -> dict[str, float | None]:
    """Build the catalog anew, each time with one more tool at one of the backends."""
    inventories = [inventory_of(f"b{number:02}", tools) for number in range(backends)]
    known = {inventory.backend: inventory for inventory in inventories}
    snapshot = Snapshot(tuple(_backend(key) for key in known))
    took: list[float] = []
    for number in range(rounds):
        changed = inventories[number % backends]
        more = inventory_of(changed.backend.name, tools + 1 + number).tools
        known[changed.backend] = replace(changed, tools=more)
        started = perf_counter()
        catalog = build(snapshot, known)
        took.append(perf_counter() - started)
    return {
        "p50_ms": quantile_ms(took, 0.50),
        "p99_ms": quantile_ms(took, 0.99),
        "tools": len(catalog.tools),
    }


def _backend(key: ObjectKey) -> Backend:
    url = f"http://127.0.0.1:1/{key.name}/mcp"
    return Backend(key, key.name, HttpEndpoint(url), timeout_seconds=30)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.rebuild", description=__doc__)
    parser.add_argument("--backends", type=int, default=100)
    parser.add_argument("--tools", type=int, default=200, help="tools of each backend")
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    found = measure(arguments.backends, arguments.tools, arguments.rounds)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
