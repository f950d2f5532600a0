"""The very many objects of a namespace as they are measured, and what is demanded of them."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.discovery import Size, change_verdicts, start_verdicts
from benchmarks.kube import Object
from vmcp.crd.convert import Converter, convert
from vmcp.crd.scope import Scope
from vmcp.crd.things import thing
from vmcp.crd.world import Thing, World
from vmcp.model.keys import ObjectKey

SIZE = Size(40, 10, 4)
SITES = ("http://127.0.0.1:1", "http://127.0.0.1:2")
SCOPE = Scope(
    "kubernetes", "team", None, has_operator=True, allows_loopback=True, timeout_seconds=30.0
)


def things(*objects: Object, version: str = "1") -> dict[ObjectKey, Thing]:
    keys = [ObjectKey(each["kind"], each["metadata"]["name"], "ns") for each in objects]
    return {key: thing(key, version, each) for key, each in zip(keys, objects, strict=True)}


def test_there_are_as_many_objects_as_are_said_and_all_entries_are_served() -> None:
    objects = [*SIZE.objects(SITES)]

    counts = Counter(each["kind"] for each in objects)
    assert counts["MCPServerEntry"] == 40
    assert counts["Secret"] == 10
    assert counts["MCPExternalAuthConfig"] == 4
    made = convert(World("ns", things(*objects)), SCOPE)
    assert len(made.backends) == 40
    assert made.problems == ()


def test_each_change_touches_as_many_entries_as_it_says() -> None:
    known = things(*SIZE.objects(SITES))
    converter = Converter(SCOPE)
    converter.convert(World("ns", {**known}))

    for number, (each, touched) in enumerate(SIZE.changes(SITES, 9)):
        known |= things(each, version=f"changed {number}")
        converter.convert(World("ns", {**known}))
        assert len(converter.converted) == touched


@pytest.mark.parametrize(
    ("converted", "met"),
    [(1.0, [True, True]), (1.1, [False, True]), (0.9, [True, False])],
    ids=["all", "too many", "too few"],
)
def test_neither_more_nor_less_is_to_be_converted(converted: float, met: list[bool]) -> None:
    found = [*change_verdicts(SIZE, converted, 5.0)]

    assert [each.meets_floor for each in found[:2]] == met


def test_requests_are_counted_without_slack() -> None:
    _, few, _ = start_verdicts(SIZE, 1.0, 40, 1.0)
    _, many, _ = start_verdicts(SIZE, 1.0, 41, 1.0)

    assert few.meets_floor
    assert not many.meets_floor
