"""Why a name is what it is, leads where it leads, or is seen by no client; for people who wonder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from vmcp.catalog.conflicts import prefix_of, prompt_bids, tool_bids
from vmcp.catalog.entries import Entry, Kind, Offer
from vmcp.catalog.left_out import LeftOut, left_out, sentences, told
from vmcp.catalog.listing import Listing
from vmcp.catalog.lookup import Catalog
from vmcp.catalog.naming import Bid
from vmcp.catalog.parts import of_view
from vmcp.catalog.problems import shown
from vmcp.catalog.reasons import Named, why_named
from vmcp.catalog.visibility import offers, tool_offers
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.rules import Rules
from vmcp.model.snapshot import Snapshot

_MOST_NEAR = 5
# A part of a name this long is no accident.
_SHORTEST_PART = 3
_ALL_BUT_NAMES = (
    "Resources keep the URIs that their backends give them, whatever the rules for names."
)


class Finding(NamedTuple):
    """One thing that the name may mean; `name` is None where no client sees it, `why` tells each step.

    `views` are the named views that show it.
    """

    kind: Kind
    name: str | None
    backend_name: str
    own_name: str
    why: tuple[str, ...]
    views: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is known of a name.

    `unlisted` are the backends that may offer it and have not been listed, `mentions` what problems say of it,
    `near` the names of which one may have been meant, if none was found.
    """

    asked: str
    findings: tuple[Finding, ...]
    unlisted: tuple[str, ...]
    mentions: tuple[str, ...]
    near: tuple[str, ...]


class _Thing(NamedTuple):
    """One thing that a backend offers, with all names by which somebody may ask for it."""

    finding: Finding
    names: frozenset[str]


def explain(
    snapshot: Snapshot,
    inventories: Mapping[ObjectKey, Inventory],
    catalog: Catalog,
    asked: str,
) -> Explanation:
    """Return what a name means: a client's, a backend's own, or one before it was changed."""
    things = [*_seen(snapshot, inventories, catalog), *_unseen(snapshot, inventories, catalog)]
    found = [thing.finding for thing in things if asked in thing.names]
    if not found:
        found = list(_read(catalog, asked))
    found = list(_with_views(found, snapshot, inventories, catalog))
    said = {sentence for finding in found for sentence in finding.why}
    return Explanation(
        asked,
        tuple(sorted(found, key=lambda one: (one.name != asked, one.name is None))),
        tuple(_unlisted(snapshot, inventories, asked, has_found=bool(found))),
        tuple(each for each in _mentions(snapshot, catalog, asked) if each not in said),
        () if found else _near(things, asked),
    )


def _seen(
    snapshot: Snapshot, inventories: Mapping[ObjectKey, Inventory], catalog: Catalog
) -> Iterator[_Thing]:
    rules = snapshot.rules
    listed = [(b, inventories[b.key]) for b in snapshot.backends if b.key in inventories]
    tools = [o for b, inventory in listed for o in tool_offers(b, inventory, rules).kept]
    prompts = [o for b, i in listed for o in offers(Kind.PROMPT, b, i.prompts).kept]
    problems = sentences(catalog)

    def named(
        kind: Kind, offered: Sequence[Offer], bids: Iterable[Bid], names: Listing
    ) -> Iterator[_Thing]:
        public = {(e.backend, e.own_name): e.name for e in names.entries}
        sharing = _sharing(offered)
        for bid in bids:
            offer = bid.offer
            name = public.get((offer.backend.key, offer.own_name))
            if name is not None:
                one = Named(kind, offer, name, sharing[offer.base], rules)
                why = (*why_named(one), *told(kind, offer.own_name, offer.backend, problems))
                finding = Finding(kind, name, offer.backend.name, offer.own_name, why)
                wanted = {name, offer.own_name, offer.base, bid.wanted, bid.second or name}
                yield _Thing(finding, frozenset(wanted))

    yield from named(Kind.TOOL, tools, tool_bids(tools, rules).bids, catalog.tools)
    yield from named(Kind.PROMPT, prompts, prompt_bids(prompts, rules).bids, catalog.prompts)
    for kind, listing in (
        (Kind.RESOURCE, catalog.resources),
        (Kind.TEMPLATE, catalog.templates),
    ):
        for entry in listing.entries:
            yield _kept(kind, entry)


def _sharing(offered: Iterable[Offer]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for offer in offered:
        found.setdefault(offer.base, []).append(offer.backend.name)
    return found


def _kept(kind: Kind, entry: Entry) -> _Thing:
    why = (_ALL_BUT_NAMES,)
    finding = Finding(kind, entry.name, entry.backend_name, entry.own_name, why)
    return _Thing(finding, frozenset((entry.name,)))


def _unseen(
    snapshot: Snapshot, inventories: Mapping[ObjectKey, Inventory], catalog: Catalog
) -> Iterator[_Thing]:
    for one in left_out(snapshot, inventories, catalog):
        finding = Finding(one.kind, None, one.backend_name, one.own_name, (one.why,))
        yield _Thing(finding, _wanted(one, snapshot.rules))


def _wanted(one: LeftOut, rules: Rules) -> frozenset[str]:
    """Return the names that a thing would have if clients saw it."""
    if one.kind not in (Kind.TOOL, Kind.PROMPT):
        return frozenset((one.own_name,))
    own = rules.tools.get(one.backend_name) if one.kind is Kind.TOOL else None
    override = None if own is None else own.overrides.get(one.own_name)
    base = one.own_name if override is None or override.name is None else override.name
    return frozenset((one.own_name, base, prefix_of(one.backend_name, rules) + base))


def _read(catalog: Catalog, asked: str) -> Iterator[Finding]:
    """Yield who would be asked for a URI that nobody lists."""
    entry = catalog.resource(asked) if ":" in asked else None
    if entry is None:
        return
    template = entry.own_document.get(b'"uriTemplate"')
    if template is None:
        why = "No list shows it; its backend alone has resources, so it is asked for every URI."
    else:
        why = f"No list shows it; resource template {shown(json.loads(template))} matches it."
    yield Finding(Kind.RESOURCE, asked, entry.backend_name, entry.own_name, (why,))


def _with_views(
    found: Iterable[Finding],
    snapshot: Snapshot,
    inventories: Mapping[ObjectKey, Inventory],
    catalog: Catalog,
) -> Iterator[Finding]:
    parts = {each.name: of_view(each, catalog, snapshot, inventories) for each in snapshot.views}
    for one in found:
        yield one._replace(views=tuple(name for name, part in parts.items() if _shows(part, one)))


def _shows(part: Catalog, one: Finding) -> bool:
    """Tell whether a part of the whole leads a name to the same backend."""
    if one.name is None:
        return False
    look = {
        Kind.TOOL: part.tool,
        Kind.PROMPT: part.prompt,
        Kind.RESOURCE: part.resource,
        Kind.TEMPLATE: part.template,
    }
    entry = look[one.kind](one.name)
    return entry is not None and entry.backend_name == one.backend_name


def _unlisted(
    snapshot: Snapshot,
    inventories: Mapping[ObjectKey, Inventory],
    asked: str,
    *,
    has_found: bool,
) -> Iterator[str]:
    """Yield whose prefix the name has; where nobody's is and nothing was found, all may have it."""
    names = [backend.name for backend in snapshot.backends if backend.key not in inventories]
    prefixes = {name: prefix_of(name, snapshot.rules) for name in names}
    likely = [name for name in names if prefixes[name] and asked.startswith(prefixes[name])]
    yield from likely or ([] if has_found else names)


def _mentions(snapshot: Snapshot, catalog: Catalog, asked: str) -> Iterator[str]:
    quoted = shown(asked)
    for problem in sorted({*snapshot.problems, *catalog.problems}):
        if _is_of_its_backend(problem, snapshot, asked):
            yield f"{problem.key} is left out: {problem.message}"
        elif quoted in problem.message:
            yield problem.message


def _is_of_its_backend(problem: Problem, snapshot: Snapshot, asked: str) -> bool:
    """Tell whether a backend that was left out as a whole has the name, or would have given it."""
    name = problem.key.name
    is_left_out = problem in snapshot.problems and problem.key not in snapshot.by_key()
    return is_left_out and (
        asked == name or asked.startswith(prefix_of(name, snapshot.rules) or f"{name}_")
    )


def _near(things: Iterable[_Thing], asked: str) -> tuple[str, ...]:
    """Return names of clients that may have been meant, the likeliest first."""
    leads: dict[str, str] = {}
    for thing in things:
        if thing.finding.name is not None:
            for name in sorted(thing.names):
                leads.setdefault(name, thing.finding.name)
    parts = [name for name in leads if len(asked) >= _SHORTEST_PART and asked in name]
    likely = [*sorted(parts, key=len), *get_close_matches(asked, leads, n=_MOST_NEAR)]
    return tuple(dict.fromkeys(leads[name] for name in likely))[:_MOST_NEAR]
