"""Backends, their lists and catalogs for the tests of this folder, in few words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from vmcp.catalog.build import build
from vmcp.catalog.entries import Offer
from vmcp.catalog.listing import Listing
from vmcp.catalog.lookup import Catalog
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Inventory, Named, Peer, Tool
from vmcp.model.keys import ObjectKey
from vmcp.model.rules import Rules
from vmcp.model.snapshot import Snapshot

PEER = Peer(Era.SESSIONED, "2025-11-25", Document(()), b"{}")


def key(name: str) -> ObjectKey:
    return ObjectKey("backend", name)


def backend(name: str) -> Backend:
    return Backend(key(name), name, HttpEndpoint("http://127.0.0.1:1/mcp"), 30.0)


def document(**members: object) -> Document:
    """Return a document; bytes are raw JSON, all else is written as JSON."""
    raw = {
        name: v if isinstance(v, bytes) else json.dumps(v).encode() for name, v in members.items()
    }
    return Document(tuple((f'"{name}"'.encode(), value) for name, value in raw.items()))


def tool(name: str, **members: object) -> Tool:
    return Tool(name, document(name=name, inputSchema={"type": "object"}, **members))


def offer(backend_name: str, own_name: str) -> Offer:
    return Offer(backend(backend_name), own_name, own_name, document(name=own_name))


def lists(
    tools: Iterable[str | Tool] = (),
    prompts: Iterable[str] = (),
    resources: Iterable[str] = (),
    templates: Iterable[str] = (),
    peer: Peer = PEER,
) -> Inventory:
    """Return the lists of a backend; `catalog` fills in whose they are."""
    return Inventory(
        key(""),
        peer,
        tools=tuple(one if isinstance(one, Tool) else tool(one) for one in tools),
        prompts=tuple(Named(name, document(name=name)) for name in prompts),
        resources=tuple(Named(uri, document(uri=uri, name="r")) for uri in resources),
        templates=tuple(Named(uri, document(uriTemplate=uri, name="t")) for uri in templates),
    )


def snapshot(names: Iterable[str], rules: Rules | None = None) -> Snapshot:
    return Snapshot(tuple(backend(name) for name in names), (), rules or Rules())


def catalog(listed: Mapping[str, Inventory], rules: Rules | None = None) -> Catalog:
    """Return the catalog of backends by their public names."""
    inventories = {key(name): inventory for name, inventory in listed.items()}
    return build(snapshot(listed, rules), inventories)


def routes(listing: Listing) -> dict[str, tuple[str, str]]:
    """Return for each public name the backend and its own name."""
    return {one.name: (one.backend.name, one.own_name) for one in listing.entries}


def reasons(found: Catalog) -> list[tuple[str, str]]:
    """Return for each problem whose it is and why."""
    return [(problem.key.name, problem.reason) for problem in found.problems]


def messages(found: Catalog) -> list[str]:
    return [problem.message for problem in found.problems]
