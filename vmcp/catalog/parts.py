"""Catalogs of parts of the whole: one backend alone, or what a named view shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from vmcp.catalog import problems
from vmcp.catalog.build import build
from vmcp.catalog.entries import Entry
from vmcp.catalog.listing import Listing
from vmcp.catalog.lookup import Catalog
from vmcp.model.backend import Backend
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.rules import Conflict
from vmcp.model.snapshot import Snapshot
from vmcp.model.view import ViewRules

ANY = "*"

Inventories = Mapping[ObjectKey, Inventory]


def of_backend(backend: Backend, snapshot: Snapshot, inventories: Inventories) -> Catalog:
    """Return what one backend alone shows: its names without a prefix, after its overrides and filters."""
    rules = snapshot.rules
    own = {name: each for name, each in rules.tools.items() if name == backend.name}
    # Nobody competes with it, so each name stays as it is.
    alone = replace(rules, conflict=Conflict.PREFIX_ON_CONFLICT, priority_order=(), tools=own)
    return build(Snapshot((backend,), rules=alone), inventories)


def of_view(
    view: ViewRules, whole: Catalog, snapshot: Snapshot, inventories: Inventories
) -> Catalog:
    """Return what a view shows of the whole, with its own problems alone.

    Tools and prompts have the names of the whole. URIs belong to the first of the view's own backends.
    """
    tools = _tools(view, whole)
    members = _members(view, tools, snapshot)
    keys = frozenset(backend.key for backend in members)
    prompts = tuple([entry for entry in whole.prompts.entries if entry.backend in keys])
    return replace(
        _resources(members, snapshot, inventories),
        tools=_listing(tools, whole.tools),
        prompts=_listing(prompts, whole.prompts),
        problems=tuple(sorted(_problems(view, tools, members, snapshot, inventories))),
    )


def _tools(view: ViewRules, whole: Catalog) -> tuple[Entry, ...]:
    found: Iterable[Entry] = whole.tools.entries
    if view.backends is not None:
        members = frozenset(view.backends)
        found = [entry for entry in found if entry.backend_name in members]
    if view.tools is not None:
        is_named = _matching(view.tools)
        found = [entry for entry in found if is_named(entry.name)]
    return tuple(found)


def _matching(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return what tells whether a name is one of those, or matches one in which `*` stands for anything."""
    given = tuple(patterns)
    exact = frozenset(each for each in given if ANY not in each)
    open_ended = [_expression(each) for each in given if ANY in each]
    matches = re.compile("|".join(open_ended)).fullmatch if open_ended else None
    return lambda name: name in exact or (matches is not None and matches(name) is not None)


def _expression(pattern: str) -> str:
    first, *between, last = map(re.escape, pattern.split(ANY))
    # Atomic: what stands between two stars is taken where it comes first, and never tried again.
    return first + "".join(f"(?>.*?{piece})" for piece in between) + ".*" + last


def _members(view: ViewRules, tools: Iterable[Entry], snapshot: Snapshot) -> tuple[Backend, ...]:
    if view.backends is not None:
        named = frozenset(view.backends)
        return tuple(each for each in snapshot.backends if each.name in named)
    keys = {entry.backend for entry in tools}
    return tuple(each for each in snapshot.backends if each.key in keys)


def _listing(entries: tuple[Entry, ...], whole: Listing) -> Listing:
    # A part of a list is in its order; all of it is the list itself, with the pages that it keeps.
    return whole if len(entries) == len(whole) else Listing.of(entries)


def _resources(
    members: tuple[Backend, ...], snapshot: Snapshot, inventories: Inventories
) -> Catalog:
    known = {
        each.key: replace(inventories[each.key], tools=(), prompts=())
        for each in members
        if each.key in inventories
    }
    return build(Snapshot(members, rules=replace(snapshot.rules, tools={})), known)


def _problems(
    view: ViewRules,
    tools: Iterable[Entry],
    members: tuple[Backend, ...],
    snapshot: Snapshot,
    inventories: Inventories,
) -> Iterator[Problem]:
    known = {backend.name for backend in snapshot.backends}
    for name in view.backends or ():
        if name not in known:
            yield problems.view_backend_unknown(view.name, name)
    # A backend that has not been listed may have the tool.
    may_have = snapshot.backends if view.backends is None else members
    if all(backend.key in inventories for backend in may_have):
        names = frozenset(entry.name for entry in tools)
        for pattern in view.tools or ():
            if not _is_met(pattern, names):
                yield problems.view_tool_unmatched(view.name, pattern)


def _is_met(pattern: str, names: frozenset[str]) -> bool:
    if ANY not in pattern:
        return pattern in names
    return any(map(_matching((pattern,)), names))
