"""What a backend offers once its own rules have spoken: overrides, then filter, then exclusion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from vmcp.catalog import problems
from vmcp.catalog.entries import Kind, Offer, Offers
from vmcp.catalog.overrides import overridden
from vmcp.catalog.raw import UnreadableError
from vmcp.model.backend import Backend
from vmcp.model.inventory import Inventory, Named, Tool
from vmcp.model.problem import Problem
from vmcp.model.rules import Rules, ToolRules

_NO_RULES = ToolRules()


def tool_offers(backend: Backend, inventory: Inventory, rules: Rules) -> Offers:
    """Return the tools that the rules let clients see, with their overrides."""
    own = rules.tools.get(backend.name, _NO_RULES)
    offered = _once(Kind.TOOL, backend, _renamed(backend, inventory.tools, own))
    distinct = _distinct(offered.kept)
    found = (*offered.problems, *distinct.problems, *_unmatched(backend, offered.kept, own))
    if own.exclude_all or rules.exclude_all_tools or not _named(backend, rules):
        return Offers((), found)
    changed = _overridden(_filtered(distinct.kept, own), own)
    return Offers(changed.kept, (*found, *changed.problems))


def offers(kind: Kind, backend: Backend, listed: Iterable[Named]) -> Offers:
    """Return prompts, resources or templates as a backend lists them: no rule hides any."""
    return _once(kind, backend, (Offer(backend, n.name, n.name, n.document) for n in listed))


def _named(backend: Backend, rules: Rules) -> bool:
    return rules.show_unnamed or backend.name in rules.tools


def _renamed(backend: Backend, tools: Iterable[Tool], own: ToolRules) -> Iterator[Offer]:
    names = {name: o.name for name, o in own.overrides.items() if o.name is not None}
    for tool in tools:
        base = names.get(tool.name, tool.name)
        yield Offer(backend, tool.name, base, tool.document, tool.param_headers, tool.object_output)


def _once(kind: Kind, backend: Backend, offered: Iterable[Offer]) -> Offers:
    first: dict[str, Offer] = {}
    again: set[str] = set()
    for offer in offered:
        if first.setdefault(offer.own_name, offer) is not offer:
            again.add(offer.own_name)
    found = tuple(problems.duplicated(kind, backend, name) for name in sorted(again))
    return Offers(tuple(first.values()), found)


def _distinct(offered: tuple[Offer, ...]) -> Offers:
    if len({offer.base for offer in offered}) == len(offered):
        return Offers(offered)
    # Whom the configuration names goes first: a backend cannot take a name away by adding a tool.
    holders: dict[str, Offer] = {}
    for offer in sorted(offered, key=lambda o: (o.base == o.own_name, o.own_name)):
        holders.setdefault(offer.base, offer)
    kept = tuple(offer for offer in offered if holders[offer.base] is offer)
    lost = (offer for offer in offered if holders[offer.base] is not offer)
    found = tuple(problems.override_collides(offer, holders[offer.base]) for offer in lost)
    return Offers(kept, found)


def _filtered(offered: tuple[Offer, ...], own: ToolRules) -> tuple[Offer, ...]:
    wanted = own.filter
    if wanted is None:
        return offered
    return tuple(offer for offer in offered if offer.base in wanted)


def _overridden(offered: tuple[Offer, ...], own: ToolRules) -> Offers:
    if not own.overrides:
        return Offers(offered)
    kept: list[Offer] = []
    found: list[Problem] = []
    for offer in offered:
        override = own.overrides.get(offer.own_name)
        if override is None:
            kept.append(offer)
            continue
        try:
            document = overridden(offer.document, override)
        except UnreadableError:
            found.append(problems.annotations_unreadable(offer))
            document = overridden(offer.document, replace(override, annotations={}))
        kept.append(offer._replace(document=document))
    return Offers(tuple(kept), tuple(found))


def _unmatched(backend: Backend, offered: tuple[Offer, ...], own: ToolRules) -> Iterator[Problem]:
    owned = {offer.own_name for offer in offered}
    bases = {offer.base for offer in offered}
    for name in sorted(own.overrides.keys() - owned):
        yield problems.override_unmatched(backend, name)
    for name in sorted((own.filter or frozenset()) - bases):
        yield problems.filter_unmatched(backend, name)
