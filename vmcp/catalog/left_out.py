"""What backends offer and clients do not see, each with the reason; for people who wonder."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from vmcp.catalog.entries import Kind
from vmcp.catalog.lookup import Catalog
from vmcp.catalog.problems import subject
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.inventory import Inventory, Named, Tool
from vmcp.model.keys import ObjectKey
from vmcp.model.rules import Rules, ToolRules
from vmcp.model.snapshot import Snapshot

Sentences = Mapping[ObjectKey, Sequence[str]]

_NO_RULES = ToolRules()
_SOON = "It is listed as soon as its backend is well."


class LeftOut(NamedTuple):
    """One thing that no client sees, by its own name, and why."""

    kind: Kind
    backend_name: str
    own_name: str
    document: Document
    why: str


def left_out(
    snapshot: Snapshot, inventories: Mapping[ObjectKey, Inventory], catalog: Catalog
) -> tuple[LeftOut, ...]:
    """Return what the catalog does not show of the lists that it was built from, in their order."""
    known = sentences(catalog)
    listings = (catalog.tools, catalog.prompts, catalog.resources, catalog.templates)
    seen = [{(e.backend, e.own_name) for e in listing.entries} for listing in listings]
    found: list[LeftOut] = []
    for backend in snapshot.backends:
        inventory = inventories.get(backend.key)
        if inventory is None:
            continue
        for (kind, listed), shown in zip(_lists(inventory), seen, strict=True):
            for each in (one for one in listed if (backend.key, one.name) not in shown):
                hidden = _hidden(kind, each.name, backend, snapshot.rules)
                why = hidden or " ".join(told(kind, each.name, backend, known)) or _SOON
                found.append(LeftOut(kind, backend.name, each.name, each.document, why))
    return tuple(found)


def _lists(inventory: Inventory) -> Iterator[tuple[Kind, Iterable[Tool | Named]]]:
    yield Kind.TOOL, inventory.tools
    yield Kind.PROMPT, inventory.prompts
    yield Kind.RESOURCE, inventory.resources
    yield Kind.TEMPLATE, inventory.templates


def sentences(catalog: Catalog) -> Sentences:
    """Return what the problems of a catalog say, sorted, by the backend that they concern."""
    found: dict[ObjectKey, list[str]] = {}
    for problem in catalog.problems:
        found.setdefault(problem.key, []).append(problem.message)
    return {key: sorted(messages) for key, messages in found.items()}


def _hidden(kind: Kind, own_name: str, backend: Backend, rules: Rules) -> str | None:
    """Return the rule that hides a thing, in words."""
    own = rules.tools.get(backend.name, _NO_RULES)
    if kind is not Kind.TOOL:
        return None
    if rules.exclude_all_tools:
        return "aggregation.excludeAllTools hides all tools."
    if own.exclude_all:
        return "excludeAll hides all tools of this backend."
    if not rules.show_unnamed and backend.name not in rules.tools:
        return "aggregation.tools does not name this backend, and defaultToolVisibility is deny."
    override = own.overrides.get(own_name)
    name = own_name if override is None or override.name is None else override.name
    if own.filter is not None and name not in own.filter:
        return "The filter of this backend does not name it."
    return None


def told(kind: Kind, own_name: str, backend: Backend, known: Sentences) -> tuple[str, ...]:
    """Return what the problems say of one thing."""
    begins = f"{subject(kind, own_name, backend.name)} "
    messages = known.get(backend.key, ())
    first = bisect_left(messages, begins)
    return tuple(
        takewhile(
            lambda message: message.startswith(begins),
            (messages[at] for at in range(first, len(messages))),
        )
    )
