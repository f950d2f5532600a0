"""What is made of a namespace hangs on what there is in it, and not on how it came about."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.crd.events import BATCHES, START, Event
from tests.crd.referrers import touched
from tests.crd.worlds import CLUSTER, FOLDER, NAMESPACE, world
from vmcp.crd.convert import Converter, convert
from vmcp.crd.scope import Scope
from vmcp.crd.world import GATEWAY, GROUP, MEMBERS, SecretObject, Thing, World
from vmcp.model.keys import ObjectKey
from vmcp.model.secret import Secret
from vmcp.model.snapshot import Contribution

Batches = Sequence[Sequence[Event]]
Things = Mapping[ObjectKey, Thing]

SCOPES = [
    pytest.param(CLUSTER, id="a gateway by name"),
    pytest.param(FOLDER, id="the only one in a folder"),
    pytest.param(replace(CLUSTER, gateway=None, group="g"), id="a group by name"),
]
# A seed for the order in which a source happens to hold its objects.
SEEDS = st.randoms(use_true_random=False)

many = settings(deadline=None, max_examples=100)


def after(things: Things, batch: Sequence[Event]) -> Things:
    """Return what there is when these events have happened."""
    found = dict(things)
    for event in batch:
        if event.thing is None:
            found.pop(event.key, None)
        else:
            found[event.key] = event.thing
    return found


def shuffled(things: Things, rng: random.Random) -> World:
    """Return the World of some objects, which it holds in any order."""
    mixed = [*things.values()]
    rng.shuffle(mixed)
    return world(*mixed)


def worlds(batches: Batches, rng: random.Random) -> list[World]:
    """Return what is seen of a namespace, one World after the other."""
    things: Things = {each.key: each for each in START}
    found = [shuffled(things, rng)]
    for batch in batches:
        things = after(things, batch)
        found.append(shuffled(things, rng))
    return found


def orders(made: Contribution) -> list[list[object]]:
    """Return the orders of what is compared without them."""
    return [[*made.own_tools], [*made.decisions]]


@pytest.mark.parametrize("scope", SCOPES)
@many
@given(batches=BATCHES, rng=SEEDS)
def test_what_was_before_leaves_no_trace(
    scope: Scope, batches: Batches, rng: random.Random
) -> None:
    converter = Converter(scope)
    for each in worlds(batches, rng):
        fresh = Converter(scope)

        found, expected = converter.convert(each), fresh.convert(each)

        assert found == expected
        assert [*found.problems] == sorted(found.problems)
        assert orders(found) == orders(expected)
        assert converter.watched == fresh.watched


@pytest.mark.parametrize("scope", SCOPES)
@many
@given(batches=BATCHES, rng=SEEDS)
def test_events_that_are_seen_one_by_one_and_all_at_once_come_to_the_same(
    scope: Scope, batches: Batches, rng: random.Random
) -> None:
    slow, fast = Converter(scope), Converter(scope)
    seen = worlds([[event] for batch in batches for event in batch], rng)

    for each in seen:
        step_by_step = slow.convert(each)
    fast.convert(seen[0])

    assert step_by_step == fast.convert(shuffled(seen[-1].things, rng))
    assert slow.watched == fast.watched


def is_other(before: World, now: World, key: ObjectKey) -> bool:
    old, new = before.things.get(key), now.things.get(key)
    return old is None or new is None or old.version != new.version


def may_be_converted(before: World, now: World) -> frozenset[ObjectKey]:
    """Return the members that a change may concern: whom it touches, and who shares a name with one of them."""
    keys = {*before.things, *now.things}
    found = touched(before, now, [key for key in keys if is_other(before, now, key)])
    members = frozenset(key for key in keys if key.kind in MEMBERS)
    if any(key.kind in (GATEWAY, GROUP) for key in found):
        # What these say, they say of every member.
        return members
    names = {key.name for key in found if key.kind in MEMBERS}
    return frozenset(key for key in members if key.name in names)


@pytest.mark.parametrize("scope", SCOPES)
@many
@given(batches=BATCHES, rng=SEEDS)
def test_only_whom_a_change_touches_is_converted_anew(
    scope: Scope, batches: Batches, rng: random.Random
) -> None:
    converter = Converter(scope)
    seen = worlds(batches, rng)
    converter.convert(seen[0])

    for before, now in pairwise(seen):
        converter.convert(now)

        assert converter.converted <= may_be_converted(before, now)


@pytest.mark.parametrize("scope", SCOPES)
@many
@given(batches=BATCHES, rng=SEEDS)
def test_who_sees_nothing_new_converts_nothing(
    scope: Scope, batches: Batches, rng: random.Random
) -> None:
    converter = Converter(scope)
    last = worlds(batches, rng)[-1]
    made = converter.convert(last)

    assert converter.convert(shuffled(last.things, rng)) == made
    assert converter.converted == frozenset()


class Unreadable(Mapping[str, Secret | None]):
    """Values that nobody foresaw."""

    def __getitem__(self, key: str) -> Secret | None:
        raise ZeroDivisionError

    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError

    def __len__(self) -> int:
        return 1


def test_an_object_that_nobody_foresaw_harms_only_those_who_refer_to_it() -> None:
    good = after({each.key: each for each in START}, [])
    key = ObjectKey("Secret", "s", NAMESPACE)
    bad = {**good, key: SecretObject(key, "1", Unreadable())}
    converter = Converter(CLUSTER)
    before = converter.convert(world(*good.values()))

    made = converter.convert(world(*bad.values()))

    failed = {each.key for each in made.problems if each.reason == "ConversionFailed"}
    assert failed
    assert {*made.backends} == {each for each in before.backends if each.key not in failed}
    assert converter.convert(world(*good.values())) == convert(world(*good.values()), CLUSTER)
