"""Build the catalog from the snapshot and the lists of its backends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from vmcp.catalog import problems
from vmcp.catalog.conflicts import Bids, first_come, prompt_bids, tool_bids
from vmcp.catalog.entries import Entries, Entry, Kind, Offers
from vmcp.catalog.listing import Listing
from vmcp.catalog.lookup import Catalog, Reader, Route
from vmcp.catalog.naming import named
from vmcp.catalog.templates import compiled
from vmcp.catalog.visibility import offers, tool_offers
from vmcp.model.backend import Backend
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.rules import Rules
from vmcp.model.snapshot import Snapshot

_Listed = tuple[Backend, Inventory]


def build(snapshot: Snapshot, inventories: Mapping[ObjectKey, Inventory]) -> Catalog:
    """Return what clients see of the backends whose lists are known, whichever came first."""
    listed = _listed(snapshot, inventories)
    tools = _tools(listed, snapshot.rules)
    prompts = _prompts(listed, snapshot.rules)
    resources = _resources(listed, snapshot.rules)
    templates = _templates(listed, snapshot.rules)
    routes = _routes(templates.named)
    found = {
        *(problem for _, inventory in listed for problem in inventory.problems),
        *(problem for each in (tools, prompts, resources, templates) for problem in each.problems),
        *_unroutable(templates.named, routes),
        *_unknown(snapshot),
    }
    return Catalog(
        tools=Listing.of(tools.named),
        prompts=Listing.of(prompts.named),
        resources=Listing.of(resources.named),
        templates=Listing.of(templates.named),
        problems=tuple(sorted(found, key=_order)),
        peers=MappingProxyType({backend.key: inventory.peer for backend, inventory in listed}),
        backends=tuple(backend.key for backend in _ordered(snapshot)),
        _routes=routes,
        _only_reader=_only_reader(listed),
    )


def _order(problem: Problem) -> tuple[str, ...]:
    # The order of Problem itself, without its slow comparisons: whole lists can collide.
    key = problem.key
    return key.kind, key.name, key.namespace, problem.reason, problem.message


def _listed(snapshot: Snapshot, inventories: Mapping[ObjectKey, Inventory]) -> tuple[_Listed, ...]:
    ordered = _ordered(snapshot)
    return tuple((b, inventories[b.key]) for b in ordered if b.key in inventories)


def _ordered(snapshot: Snapshot) -> list[Backend]:
    return sorted(snapshot.backends, key=lambda backend: (backend.name, backend.key))


def _tools(listed: Iterable[_Listed], rules: Rules) -> Entries:
    offered = _joined(tool_offers(backend, inventory, rules) for backend, inventory in listed)
    return _named(Kind.TOOL, offered, tool_bids(offered.kept, rules), rules)


def _prompts(listed: Iterable[_Listed], rules: Rules) -> Entries:
    offered = _joined(offers(Kind.PROMPT, b, inventory.prompts) for b, inventory in listed)
    return _named(Kind.PROMPT, offered, prompt_bids(offered.kept, rules), rules)


def _resources(listed: Iterable[_Listed], rules: Rules) -> Entries:
    offered = _joined(offers(Kind.RESOURCE, b, inventory.resources) for b, inventory in listed)
    return _first_come(Kind.RESOURCE, offered, rules)


def _templates(listed: Iterable[_Listed], rules: Rules) -> Entries:
    offered = _joined(offers(Kind.TEMPLATE, b, inventory.templates) for b, inventory in listed)
    return _first_come(Kind.TEMPLATE, offered, rules)


def _joined(parts: Iterable[Offers]) -> Offers:
    several = tuple(parts)
    return Offers(
        tuple([offer for part in several for offer in part.kept]),
        tuple(problem for part in several for problem in part.problems),
    )


def _named(kind: Kind, offered: Offers, bids: Bids, rules: Rules) -> Entries:
    entries = named(kind, bids.bids, rules)
    return Entries(entries.named, (*offered.problems, *bids.problems, *entries.problems))


def _first_come(kind: Kind, offered: Offers, rules: Rules) -> Entries:
    entries = first_come(kind, offered.kept, rules)
    return Entries(entries.named, (*offered.problems, *entries.problems))


def _routes(templates: Iterable[Entry]) -> tuple[Route, ...]:
    found: list[Route] = []
    for entry in templates:
        pattern = compiled(entry.name)
        if pattern is not None:
            reader = Reader(entry.backend, entry.backend_name, entry.document)
            found.append(Route(entry.name, pattern, reader))
    return tuple(sorted(found, key=lambda r: (-r.pattern.literal_length, r.template)))


def _unroutable(templates: Iterable[Entry], routes: Iterable[Route]) -> Iterator[Problem]:
    routed = {route.template for route in routes}
    return (problems.template_invalid(e) for e in templates if e.name not in routed)


def _only_reader(listed: Iterable[_Listed]) -> Reader | None:
    readers = [backend for backend, inventory in listed if _reads(inventory)]
    return Reader(readers[0].key, readers[0].name) if len(readers) == 1 else None


def _reads(inventory: Inventory) -> bool:
    declared = inventory.peer.capabilities.get(b'"resources"') is not None
    return declared or bool(inventory.resources or inventory.templates)


def _unknown(snapshot: Snapshot) -> Iterator[Problem]:
    rules = snapshot.rules
    known = {backend.name for backend in snapshot.backends}
    fields: Mapping[str, Sequence[str]] = {
        "tools": tuple(rules.tools),
        "conflictResolutionConfig.priorityOrder": rules.priority_order,
    }
    for field, names in fields.items():
        for name in names:
            if name not in known:
                yield problems.backend_unknown(field, name)
