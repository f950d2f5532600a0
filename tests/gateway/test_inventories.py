from __future__ import annotations

import logging

import pytest

from tests.gateway.builders import inventory, key
from tests.support.virtual_time import START, HandClock
from vmcp.gateway.inventories import Fare, Inventories


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def inventories(clock: HandClock) -> Inventories:
    return Inventories(clock)


def test_lists_are_known_and_the_backend_is_ready(inventories: Inventories) -> None:
    inventories.listed(inventory("a", "tool"))

    assert inventories.known.value == {key("a"): inventory("a", "tool")}
    assert inventories.fares.value == {key("a"): Fare(is_ready=True, since=START)}


def test_a_failure_keeps_the_lists_and_says_since_when_and_why(
    inventories: Inventories, clock: HandClock
) -> None:
    inventories.listed(inventory("a", "tool"))
    clock.move(60)

    inventories.failed(key("a"), "Unreachable", "nobody there")

    fare = inventories.fares.value[key("a")]
    assert (fare.is_ready, fare.reason, fare.message) == (False, "Unreachable", "nobody there")
    assert (fare.since - START).total_seconds() == 60
    assert key("a") in inventories.known.value


def test_transitions_are_logged_and_states_are_not(
    inventories: Inventories, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(3):
        inventories.failed(key("a"), "Unreachable", "nobody there")
    inventories.failed(key("a"), "TimedOut", "too slow")
    for name in ("one", "two"):
        inventories.listed(inventory("a", name))
    inventories.failed(key("a"), "Unreachable", "gone again")

    assert [(each.message, vars(each).get("reason")) for each in caplog.records] == [
        ("backend is lost", "Unreachable"),
        ("backend is lost", "TimedOut"),
        ("backend is ready", None),
        ("backend is lost", "Unreachable"),
    ]


def test_a_state_that_goes_on_keeps_its_time(inventories: Inventories, clock: HandClock) -> None:
    inventories.failed(key("a"), "Unreachable", "nobody there")
    clock.move(60)

    inventories.failed(key("a"), "Unreachable", "nobody there")

    assert inventories.fares.value[key("a")].since == START


def test_equal_lists_are_no_change(inventories: Inventories) -> None:
    inventories.listed(inventory("a", "tool"))
    before = inventories.known.value

    inventories.listed(inventory("a", "tool"))

    assert inventories.known.value is before


def test_a_backend_that_is_forgotten_leaves_nothing(inventories: Inventories) -> None:
    inventories.listed(inventory("a"))
    inventories.listed(inventory("b"))

    inventories.forget(key("a"))

    assert list(inventories.known.value) == [key("b")]
    assert list(inventories.fares.value) == [key("b")]


def test_what_was_read_before_does_not_change(inventories: Inventories) -> None:
    inventories.listed(inventory("a"))
    before = inventories.known.value

    inventories.listed(inventory("b"))

    assert list(before) == [key("a")]


def test_updates_of_resources_are_passed_on_once_somebody_hears(inventories: Inventories) -> None:
    heard: list[tuple[object, str, bytes]] = []
    inventories.resource_updated(key("a"), "x://1", b"{}")
    inventories.on_update(lambda *update: heard.append(update))

    inventories.resource_updated(key("a"), "x://2", b"{}")

    assert heard == [(key("a"), "x://2", b"{}")]
