"""What clients see and do not see, searched and in pages: for people, not for clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import count
from typing import NamedTuple

import msgspec

from vmcp.catalog.entries import Kind
from vmcp.catalog.left_out import left_out
from vmcp.catalog.listing import Listing
from vmcp.catalog.lookup import Catalog
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.registry import Registry
from vmcp.gateway.rounds import Round
from vmcp.gateway.views import Views
from vmcp.model.document import Document
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.document import MalformedJson, unquote

_PAGE_SIZE = 100
_LONGEST_TEXT = 1000


class Shelf(Enum):
    """The lists that can be looked through."""

    LISTED = "listed"
    LEFT_OUT = "left-out"
    PROBLEMS = "problems"


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for: all words must be found, in whatever case; `after` is a page's `next`."""

    shelf: Shelf
    kind: Kind | None
    search: str
    after: int


class _Row(NamedTuple):
    """What is shown of one thing, and the text in which words are looked for."""

    kind: Kind | None
    text: str
    shown: Mapping[str, str]


class _State(NamedTuple):
    """All that rows are made of; it is compared by identity, and equal identities mean equal rows."""

    snapshot: Snapshot
    known: Mapping[ObjectKey, Inventory]
    made: Round


_Shelves = Mapping[Shelf, tuple[_Row, ...]]


class Browser:
    """Make the rows in a thread when somebody looks, and keep them until they are others."""

    def __init__(self, registry: Registry, inventories: Inventories, views: Views) -> None:
        self._registry = registry
        self._inventories = inventories
        self._views = views
        self._numbers = count(1)
        self._making = asyncio.Lock()
        self._state: _State | None = None
        self._revision = 0
        self._shelves: _Shelves | None = None

    def revision(self) -> int:
        """Return a number that changes whenever the rows may have changed."""
        now = _State(
            self._registry.snapshot.value,
            self._inventories.known.value,
            self._views.made,
        )
        before = self._state
        if before is None or any(a is not b for a, b in zip(now, before, strict=True)):
            self._state, self._shelves = now, None
            self._revision = next(self._numbers)
        return self._revision

    async def page(self, query: Query) -> bytes:
        """Return one page as JSON."""
        async with self._making:
            revision, state = self.revision(), self._state
            shelves = self._shelves
            if shelves is None and state is not None:
                shelves = await asyncio.to_thread(_shelves, state)
                # Whoever asks next finds out by itself whether these are still the newest.
                self._shelves = shelves if self._state is state else None
            return await asyncio.to_thread(_page, shelves or {}, query, revision)


def _page(shelves: _Shelves, query: Query, revision: int) -> bytes:
    words = query.search.casefold().split()
    rows = shelves.get(query.shelf, ())
    matching = [
        row
        for row in rows
        if (query.kind is None or row.kind is query.kind) and all(w in row.text for w in words)
    ]
    end = query.after + _PAGE_SIZE
    return msgspec.json.encode(
        {
            "revision": revision,
            "counts": {shelf.value: len(shelves.get(shelf, ())) for shelf in Shelf},
            "matching": len(matching),
            "rows": [row.shown for row in matching[query.after : end]],
            "next": end if end < len(matching) else None,
        }
    )


def _shelves(state: _State) -> _Shelves:
    snapshot, known, made = state
    catalog = made.whole.catalog
    hidden = left_out(snapshot, known, catalog)
    problems = sorted({*snapshot.problems, *made.problems})
    return {
        Shelf.LISTED: tuple(_listed(catalog)),
        Shelf.LEFT_OUT: tuple(
            _thing(one.kind, one.own_name, one.backend_name, one.document, why=one.why)
            for one in hidden
        ),
        Shelf.PROBLEMS: tuple(_problem(each) for each in problems),
    }


def _listed(catalog: Catalog) -> Iterable[_Row]:
    listings: Mapping[Kind, Listing] = {
        Kind.TOOL: catalog.tools,
        Kind.PROMPT: catalog.prompts,
        Kind.RESOURCE: catalog.resources,
        Kind.TEMPLATE: catalog.templates,
    }
    for kind, listing in listings.items():
        for each in listing.entries:
            own = {"ownName": each.own_name} if each.renamed else {}
            yield _thing(kind, each.name, each.backend_name, each.own_document, **own)


def _thing(kind: Kind, name: str, backend: str, document: Document, **more: str) -> _Row:
    described = {
        member: text
        for member in ("title", "description")
        if (text := _text(document.get(f'"{member}"'.encode())))
    }
    return _row(kind, {"name": name, "backend": backend, **more, **described})


def _problem(problem: Problem) -> _Row:
    key, reason, message = str(problem.key), problem.reason, problem.message
    return _row(None, {"object": key, "reason": reason, "message": message})


def _row(kind: Kind | None, told: Mapping[str, str]) -> _Row:
    shown = {member: _cut(text) for member, text in told.items()}
    searched = "\n".join(shown.values()).casefold()
    return _Row(kind, searched, shown if kind is None else {"kind": kind.value, **shown})


def _text(raw: bytes | None) -> str:
    try:
        return "" if raw is None else unquote(raw)
    except MalformedJson:
        return ""


def _cut(text: str) -> str:
    # A lone surrogate has no UTF-8 form.
    kept = text[:_LONGEST_TEXT].encode("utf-8", "replace").decode()
    return f"{kept}…" if len(text) > _LONGEST_TEXT else kept
