"""One round of building: what the whole and its parts are to clients, made anew where anything changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter

from vmcp.catalog.build import build
from vmcp.catalog.lookup import Catalog
from vmcp.catalog.parts import Inventories, of_backend, of_view
from vmcp.gateway.greeting import greeting, introduction
from vmcp.model.inventory import Era
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot
from vmcp.model.view import WHOLE, NamedView, OneBackend, View

Part = OneBackend | NamedView


@dataclass(frozen=True, slots=True)
class Shown:
    """What clients of one view are shown, and how we present ourselves to them: raw JSON."""

    catalog: Catalog
    greetings: Mapping[Era, bytes]
    server_info: bytes

    @classmethod
    def of(cls, view: View, catalog: Catalog, snapshot: Snapshot) -> Shown:
        """Return what goes with a catalog."""
        greetings = {era: greeting(catalog, snapshot, era, view) for era in Era}
        return cls(catalog, greetings, introduction(snapshot, view))


@dataclass(frozen=True, slots=True)
class Round:
    """What was built of what; compared by identity alone."""

    snapshot: Snapshot
    known: Inventories
    whole: Shown
    parts: Mapping[Part, Shown] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def problems(self) -> frozenset[Problem]:
        """What is wrong with the whole and with the named views; a backend alone has the problems of the whole."""
        found = {*self.whole.catalog.problems}
        for view, part in self.parts.items():
            if isinstance(view, NamedView):
                found.update(part.catalog.problems)
        return frozenset(found)


def first_round() -> Round:
    """Return the round before anything is known."""
    nothing = Snapshot()
    return Round(nothing, {}, Shown.of(WHOLE, build(nothing, {}), nothing))


def next_round(
    before: Round, snapshot: Snapshot, known: Inventories, asked: frozenset[OneBackend]
) -> Round:
    """Build what differs from the round before: the whole, every named view, and the backends asked for."""
    began = perf_counter()
    is_same = snapshot is before.snapshot and known is before.known
    whole = before.whole
    if not is_same:
        whole = Shown.of(WHOLE, build(snapshot, known), snapshot)
    parts: dict[Part, Shown] = {}
    for rules in snapshot.views:
        view = NamedView(rules.name)
        kept = before.parts.get(view) if is_same else None
        parts[view] = kept or Shown.of(
            view, of_view(rules, whole.catalog, snapshot, known), snapshot
        )
    kept_keys = _unchanged(before, snapshot, known)
    for backend in snapshot.backends:
        one = OneBackend(backend.name)
        if one in asked:
            kept = before.parts.get(one) if backend.key in kept_keys else None
            parts[one] = kept or Shown.of(one, of_backend(backend, snapshot, known), snapshot)
    return Round(snapshot, known, whole, parts, perf_counter() - began)


def _unchanged(before: Round, snapshot: Snapshot, known: Inventories) -> frozenset[ObjectKey]:
    """Return the backends of which nothing has changed that their own paths show."""
    if before.snapshot.rules != snapshot.rules:
        return frozenset()
    then = {backend.key: backend.name for backend in before.snapshot.backends}
    return frozenset(
        backend.key
        for backend in snapshot.backends
        if then.get(backend.key) == backend.name
        and before.known.get(backend.key) is known.get(backend.key)
    )
