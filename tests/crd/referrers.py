"""Whom a change touches, told from who refers to whom: what a Converter must not go beyond."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from vmcp.crd.references import references
from vmcp.crd.world import World
from vmcp.model.keys import ObjectKey

# Who refers to an object, by its key.
Referrers = Mapping[ObjectKey, AbstractSet[ObjectKey]]


def referrers(world: World) -> Referrers:
    """Return the index of who refers to each object."""
    index: defaultdict[ObjectKey, set[ObjectKey]] = defaultdict(set)
    for key, thing in world.things.items():
        for target in references(thing):
            index[target].add(key)
    return dict(index)


def touched(before: World, after: World, changed: Iterable[ObjectKey]) -> frozenset[ObjectKey]:
    """Return whom changes touch: the objects themselves, and all that referred to them before or do now."""
    seeds = frozenset(changed)
    return _above(referrers(before), seeds) | _above(referrers(after), seeds)


def _above(index: Referrers, seeds: frozenset[ObjectKey]) -> frozenset[ObjectKey]:
    found = set(seeds)
    ahead = [*seeds]
    while ahead:
        new = index.get(ahead.pop(), frozenset()) - found
        found |= new
        ahead.extend(new)
    return frozenset(found)
