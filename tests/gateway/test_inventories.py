from __future__ import annotations

import logging

import pytest

from tests.gateway.builders import inventory, key
from tests.support.virtual_time import START, HandClock
from vmcp.gateway.inventories import Inventories
from vmcp.model.health import BackendHealth, Stage, State
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.failures import BackendFailed

GONE = BackendFailed("a", "Unreachable", "nobody there.")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def inventories(clock: HandClock) -> Inventories:
    return Inventories(clock)


def health_of(inventories: Inventories, name: str = "a") -> BackendHealth:
    return inventories.health.table.value[key(name)]


def make_unhealthy(inventories: Inventories, clock: HandClock) -> None:
    for _ in range(Snapshot().health.unhealthy_threshold):
        inventories.failed(key("a"), Stage.CONNECT, GONE)
        clock.move(30)


def test_lists_are_known_and_the_backend_is_healthy(inventories: Inventories) -> None:
    inventories.listed(inventory("a", "tool"))

    assert inventories.known.value == {key("a"): inventory("a", "tool")}
    assert health_of(inventories) == BackendHealth(State.HEALTHY, START, last_check=START)


def test_news_of_a_backend_tell_what_it_offers(
    inventories: Inventories, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    inventories.listed(inventory("a", "tool"))
    inventories.listed(inventory("a", "tool", "more"))

    (told,) = caplog.records
    assert told.message == "backend is ready"
    assert vars(told) | {"era": "sessioned", "version": "2025-11-25", "tools": 1} == vars(told)


def test_a_failure_keeps_the_lists_and_says_why(inventories: Inventories) -> None:
    inventories.listed(inventory("a", "tool"))

    inventories.failed(key("a"), Stage.CONNECT, GONE)

    assert health_of(inventories).state is State.DEGRADED
    assert inventories.offered.value == {key("a"): inventory("a", "tool")}


def test_a_check_that_is_answered_is_as_good_as_a_list(inventories: Inventories) -> None:
    inventories.failed(key("a"), Stage.PROBE, GONE)

    inventories.checked(key("a"))

    assert health_of(inventories).state is State.HEALTHY


def test_what_an_unhealthy_backend_offers_is_known_but_not_shown(
    inventories: Inventories, clock: HandClock
) -> None:
    inventories.listed(inventory("a", "tool", resources=("x://1",), prompts=("p",)))
    inventories.listed(inventory("b", "tool"))

    make_unhealthy(inventories, clock)

    assert inventories.offered.value == {key("a"): inventory("a"), key("b"): inventory("b", "tool")}
    assert inventories.known.value[key("a")].tools


def test_it_is_shown_again_when_the_backend_is_back(
    inventories: Inventories, clock: HandClock
) -> None:
    inventories.listed(inventory("a", "tool"))
    make_unhealthy(inventories, clock)

    inventories.listed(inventory("a", "tool"))

    assert inventories.offered.value == {key("a"): inventory("a", "tool")}


def test_equal_lists_are_no_change(inventories: Inventories) -> None:
    inventories.listed(inventory("a", "tool"))
    before = inventories.known.value, inventories.offered.value

    inventories.listed(inventory("a", "tool"))

    assert (inventories.known.value, inventories.offered.value) == before
    assert inventories.known.value is before[0]


def test_a_backend_that_is_forgotten_leaves_nothing(inventories: Inventories) -> None:
    inventories.listed(inventory("a"))
    inventories.listed(inventory("b"))

    inventories.forget(key("a"))

    assert list(inventories.known.value) == [key("b")]
    assert list(inventories.offered.value) == [key("b")]
    assert list(inventories.health.table.value) == [key("b")]


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
