from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from tests.gateway.builders import key
from tests.support.virtual_time import HandClock
from tests.support.waiting import until
from vmcp.gateway.health import Health
from vmcp.latest import Latest
from vmcp.model.health import DEFAULT_HEALTH, PartialFailure, Stage, State
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.failures import BackendFailed, BackendsUnhealthy

GONE = BackendFailed("a", "Unreachable", "nobody there.")
STRICT = replace(DEFAULT_HEALTH, partial_failure=PartialFailure.FAIL, unhealthy_threshold=1)


class Ward:
    """A table of health, and what was unhealthy whenever that changed."""

    def __init__(self) -> None:
        self.heard: list[list[str]] = []
        self.health = Health(HandClock(), self._hear)

    def _hear(self) -> None:
        self.heard.append(sorted(each.name for each in self.health.unhealthy.value))


@pytest.fixture
def ward() -> Ward:
    return Ward()


def rule(ward: Ward, rules: Snapshot) -> None:
    """Apply the rules of a snapshot as a running table does."""

    async def follow() -> None:
        cell = Latest(rules)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(ward.health.run(cell))
            await until(lambda: ward.health.rules.value == rules.health)
            running.cancel()

    asyncio.run(follow())


def test_each_backend_has_a_row(ward: Ward) -> None:
    ward.health.of(key("a")).checked()
    ward.health.of(key("b"))

    states = {each.name: seen.state for each, seen in ward.health.table.value.items()}
    assert states == {"a": State.HEALTHY, "b": State.CONNECTING}


def test_a_table_that_was_read_does_not_change(ward: Ward) -> None:
    ward.health.of(key("a"))
    before = ward.health.table.value

    ward.health.of(key("a")).checked()

    assert before[key("a")].state is State.CONNECTING


def test_what_changes_nothing_is_no_new_table(ward: Ward) -> None:
    ward.health.of(key("a")).checked()
    before = ward.health.table.value

    ward.health.of(key("a")).checked()

    assert ward.health.table.value is before


def test_who_leaves_has_no_row_and_its_client_is_heard_no_more(ward: Ward) -> None:
    gone = ward.health.of(key("a"))

    ward.health.forget(key("a"))
    gone.check_failed(Stage.PROBE, GONE)

    assert key("a") not in ward.health.table.value
    assert ward.health.of(key("a")) is not gone


def test_one_that_is_another_one_now_begins_anew(ward: Ward) -> None:
    old = ward.health.of(key("a"))
    old.checked()

    ward.health.renew(key("a"))
    old.check_failed(Stage.PROBE, GONE)

    assert ward.health.table.value[key("a")].state is State.CONNECTING


def test_it_is_told_who_is_unhealthy_when_that_changes(ward: Ward) -> None:
    rule(ward, Snapshot(health=replace(DEFAULT_HEALTH, unhealthy_threshold=1)))
    for name in ("a", "b", "b"):
        ward.health.of(key(name)).check_failed(Stage.PROBE, GONE)
    ward.health.of(key("a")).checked()
    ward.health.forget(key("b"))

    assert ward.heard == [["a"], ["a", "b"], ["b"], []]


def test_where_a_part_will_do_nothing_is_refused(ward: Ward) -> None:
    rule(ward, Snapshot(health=replace(STRICT, partial_failure=PartialFailure.BEST_EFFORT)))
    ward.health.of(key("a")).check_failed(Stage.PROBE, GONE)

    ward.health.require([key("a")])


def test_where_it_will_not_the_unhealthy_are_named(ward: Ward) -> None:
    rule(ward, Snapshot(health=STRICT))
    for name in ("c", "a"):
        ward.health.of(key(name)).check_failed(Stage.PROBE, GONE)
    ward.health.of(key("b")).checked()

    with pytest.raises(BackendsUnhealthy) as caught:
        ward.health.require([key("a"), key("b"), key("c")])

    payload = json.loads(caught.value.payload())
    assert (payload["code"], payload["data"]["backends"]) == (-32603, ["a", "c"])


def test_those_that_are_not_asked_for_do_no_harm(ward: Ward) -> None:
    rule(ward, Snapshot(health=STRICT))
    ward.health.of(key("a")).check_failed(Stage.PROBE, GONE)

    ward.health.require([key("b")])


def test_that_lists_may_fail_is_told_once(ward: Ward, caplog: pytest.LogCaptureFixture) -> None:
    for rules in (STRICT, replace(STRICT, interval_seconds=1.0)):
        rule(ward, Snapshot(health=rules))

    assert [each.message for each in caplog.records] == [
        "lists fail while any backend is unhealthy"
    ]


def test_rules_that_change_judge_who_is_known(ward: Ward) -> None:
    ward.health.of(key("a")).check_failed(Stage.PROBE, GONE)

    rule(ward, Snapshot(health=replace(DEFAULT_HEALTH, unhealthy_threshold=1)))

    assert ward.health.unhealthy.value == {key("a")}
