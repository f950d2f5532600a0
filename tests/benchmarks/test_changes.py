"""The changes of a cluster as they are measured, and what is demanded of how soon they are heard."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import pytest

from benchmarks.changes import ENTRIES, Ear, Sites, changes, verdicts
from benchmarks.processes import ProcessFailed
from benchmarks.rows import Row

SITES = Sites(("http://few-1", "http://few-2"), "http://more")


def told(*lines: object) -> asyncio.StreamReader:
    """Return what a client printed before it ended."""
    reader = asyncio.StreamReader()
    for line in lines:
        reader.feed_data(json.dumps(line).encode() + b"\n")
    reader.feed_eof()
    return reader


def test_each_change_can_be_told_by_the_number_of_tools() -> None:
    numbers = [2 * ENTRIES, *(tools for _, tools in changes(SITES, 200))]

    assert len(numbers) == 201
    assert all(before != after for before, after in pairwise(numbers))


def test_a_few_changes_are_the_first_of_many() -> None:
    assert [*changes(SITES, 6)] == [*changes(SITES, 200)][:6]


def test_every_entry_has_its_turn_and_ends_as_it_was() -> None:
    last = {entry["metadata"]["name"]: entry for entry, _ in changes(SITES, 200)}

    assert [*last.values()] == [SITES.entry(number) for number in range(ENTRIES)]


async def test_what_is_heard_before_all_of_a_change_is_there_does_not_count() -> None:
    ear = Ear("sessioned", told({"at": 1.0, "tools": 98}, {"at": 2.0, "tools": 101}))

    assert await ear.until(101) == 2.0


async def test_a_client_that_has_ended_fails_the_run() -> None:
    with pytest.raises(ProcessFailed, match="stateless"):
        await Ear("stateless", told({"at": 1.0, "tools": 98})).until(100)


@pytest.mark.parametrize(
    ("p50", "p99", "met"),
    [(50.0, 120.0, [True, True]), (301.0, 120.0, [False, True]), (50.0, None, [True, False])],
    ids=["both", "median too late", "nothing heard"],
)
def test_the_median_and_the_slowest_count(p50: float, p99: float | None, met: list[bool]) -> None:
    found = verdicts([Row("kubernetes-change-heard", "sessioned", 1, p50_ms=p50, p99_ms=p99)])

    assert [each.meets_target for each in found] == met
