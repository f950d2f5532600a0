from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.gateway.builders import key
from tests.support.virtual_time import START, HandClock
from vmcp.gateway.vitals import Vitals
from vmcp.latest import Latest
from vmcp.model.health import (
    BackendHealth,
    BreakerRules,
    Circuit,
    HealthRules,
    Stage,
    State,
)
from vmcp.protocol.failures import BackendFailed

RULES = HealthRules(interval_seconds=30.0, unhealthy_threshold=3)
BREAKER = BreakerRules(failures=2, open_seconds=60.0)
GONE = BackendFailed("a", "Unreachable", "nobody there.")
SLOW = BackendFailed("a", "TimedOut", "too slow.")
FOREIGN = BackendFailed("a", "Unauthorized", "it refused our credentials with status 401.")


def busy(seconds: int | None = None) -> BackendFailed:
    told = {} if seconds is None else {"retryAfterSeconds": seconds}
    return BackendFailed("a", "Overloaded", "it answered with status 503.", **told)


class Bed:
    """A backend that is looked after by rules that can change, and what is published of it."""

    def __init__(self, rules: HealthRules = RULES) -> None:
        self.clock = HandClock()
        self.rules = Latest(rules)
        self.shown: list[BackendHealth] = []
        self.vitals = Vitals(
            key("a"), self.clock, self.rules, lambda _, seen: self.shown.append(seen)
        )

    @property
    def now(self) -> BackendHealth:
        return self.shown[-1]

    def fail(self, failure: BackendFailed = GONE, *, times: int = 1, apart: float = 30.0) -> None:
        for _ in range(times):
            self.clock.move(apart)
            self.vitals.check_failed(Stage.PROBE, failure)

    def call(self) -> None:
        self.vitals.admit()
        self.vitals.answered(self.clock.monotonic())

    def fail_call(self, failure: BackendFailed = SLOW, *, times: int = 1) -> None:
        for _ in range(times):
            self.vitals.admit()
            self.vitals.call_failed(failure)

    def refusal(self) -> BackendFailed:
        with pytest.raises(BackendFailed) as caught:
            self.vitals.admit()
        return caught.value


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_a_backend_is_connecting_until_there_is_news_of_it(bed: Bed) -> None:
    assert bed.now == BackendHealth(State.CONNECTING, START)


def test_a_check_that_is_answered_makes_it_healthy(bed: Bed) -> None:
    bed.clock.move(3)

    bed.vitals.checked()

    assert (bed.now.state, bed.now.since) == (State.HEALTHY, bed.clock.now())
    assert bed.now.last_check == bed.clock.now()


def test_checks_that_fail_make_it_degraded_and_past_the_threshold_unhealthy(bed: Bed) -> None:
    bed.vitals.checked()
    states = []
    for _ in range(4):
        bed.fail()
        states.append((bed.now.state, bed.now.consecutive_failures))

    assert states == [
        (State.DEGRADED, 1),
        (State.DEGRADED, 2),
        (State.UNHEALTHY, 3),
        (State.UNHEALTHY, 4),
    ]


def test_attempts_that_follow_each_other_quickly_are_one_failed_check(bed: Bed) -> None:
    bed.fail(times=5, apart=4.0)

    assert (bed.now.state, bed.now.consecutive_failures) == (State.DEGRADED, 1)
    assert bed.now.last_failure is not None
    assert bed.now.last_failure.count == 5


def test_a_state_that_goes_on_keeps_its_time(bed: Bed) -> None:
    bed.fail()
    since = bed.now.since

    bed.fail()

    assert bed.now.since == since


@pytest.mark.parametrize("sign", [Vitals.checked, lambda vitals: vitals.answered(100.0)])
def test_any_answer_makes_it_healthy_again(bed: Bed, sign: Callable[[Vitals], None]) -> None:
    bed.fail(times=3)

    sign(bed.vitals)

    assert (bed.now.state, bed.now.consecutive_failures) == (State.HEALTHY, 0)


def test_the_last_failure_is_kept_after_recovery(bed: Bed) -> None:
    bed.fail()
    bed.vitals.checked()

    failure = bed.now.last_failure

    assert failure is not None
    assert (failure.stage, failure.reason, failure.at) == (
        Stage.PROBE,
        "Unreachable",
        bed.clock.now(),
    )
    assert failure.message == GONE.message


def test_the_same_failure_is_counted_as_long_as_nothing_else_comes(bed: Bed) -> None:
    counts = []
    for failure in (GONE, GONE, SLOW, GONE):
        bed.fail(failure)
        counts.append(bed.now.last_failure.count if bed.now.last_failure else 0)
    bed.vitals.checked()
    bed.fail(GONE)

    assert counts == [1, 2, 1, 1]
    assert bed.now.last_failure is not None
    assert bed.now.last_failure.count == 1


def test_who_wants_a_credential_is_not_failing(bed: Bed) -> None:
    bed.vitals.checked()
    bed.fail(times=2)

    bed.fail(FOREIGN, times=5)

    assert (bed.now.state, bed.now.consecutive_failures) == (State.UNAUTHENTICATED, 0)


def test_a_call_with_a_credential_does_not_make_ours_do(bed: Bed) -> None:
    bed.fail(FOREIGN)

    bed.call()

    assert bed.now.state is State.UNAUTHENTICATED


@pytest.mark.parametrize("before", [State.CONNECTING, State.HEALTHY, State.DEGRADED])
def test_who_is_busy_keeps_its_state(bed: Bed, before: State) -> None:
    if before is State.HEALTHY:
        bed.vitals.checked()
    elif before is State.DEGRADED:
        bed.fail()

    bed.fail(busy(), times=5)

    assert bed.now.state is before
    assert bed.now.last_check == bed.clock.now()


def test_a_check_is_due_after_the_interval_and_a_call_puts_it_off(bed: Bed) -> None:
    bed.vitals.checked()
    bed.clock.move(20)
    due = bed.vitals.due_in(1.0), bed.vitals.due_in(0.9)

    bed.call()

    assert due == pytest.approx((10.0, 7.0))
    assert bed.vitals.due_in(1.1) == pytest.approx(33.0)


def test_a_check_waits_for_the_time_that_a_busy_backend_named(bed: Bed) -> None:
    bed.fail(busy(45))

    assert bed.vitals.due_in(1.0) == 45.0


def test_calls_to_a_busy_backend_are_answered_for_it_until_then(bed: Bed) -> None:
    bed.vitals.checked()
    bed.fail_call(busy(10))
    bed.clock.move(4)

    refused = bed.refusal()

    assert (refused.reason, refused.retry_after_seconds) == ("Overloaded", 6)
    bed.clock.move(6)
    bed.call()


def test_what_a_check_was_told_holds_for_checks_alone(bed: Bed) -> None:
    bed.fail(busy(45))

    bed.call()


def test_a_backend_is_spared_for_a_minute_at_most(bed: Bed) -> None:
    bed.fail_call(busy(86400))

    bed.clock.move(60)

    bed.call()


def test_a_call_that_fails_is_told_and_leaves_the_state_to_the_checks(bed: Bed) -> None:
    bed.vitals.checked()

    bed.fail_call(GONE, times=10)

    assert (bed.now.state, bed.now.consecutive_failures) == (State.HEALTHY, 0)
    assert bed.now.last_failure is not None
    assert (bed.now.last_failure.stage, bed.now.last_failure.count) == (Stage.CALL, 10)


def test_without_a_breaker_calls_are_tried_however_many_fail(bed: Bed) -> None:
    bed.fail_call(times=100)

    bed.call()
    assert bed.now.circuit is None


def test_calls_fail_at_once_while_the_breaker_is_open() -> None:
    bed = Bed(replace(RULES, breaker=BREAKER))
    bed.fail_call(times=2)
    bed.clock.move(20)

    refused = bed.refusal()

    assert (refused.reason, refused.retry_after_seconds) == ("CircuitOpen", 40)
    assert bed.now.circuit is not None
    assert (bed.now.circuit.state, bed.now.circuit.since) == (Circuit.OPEN, START)


def test_one_call_closes_it_and_the_others_are_refused_meanwhile() -> None:
    bed = Bed(replace(RULES, breaker=BREAKER))
    bed.fail_call(times=2)
    bed.clock.move(60)
    bed.vitals.admit()

    assert bed.refusal().reason == "CircuitOpen"
    bed.vitals.answered(bed.clock.monotonic())
    bed.call()
    assert bed.now.circuit is not None
    assert bed.now.circuit.state is Circuit.CLOSED


def test_a_call_that_was_cancelled_leaves_its_turn_to_the_next_one() -> None:
    bed = Bed(replace(RULES, breaker=BREAKER))
    bed.fail_call(times=2)
    bed.clock.move(60)
    bed.vitals.admit()

    bed.vitals.undecided()

    bed.call()


@pytest.mark.parametrize(
    "failure",
    [busy(), FOREIGN, BackendFailed("a", "TooLarge", "too large.")],
    ids=lambda failure: failure.reason,
)
def test_what_says_nothing_of_the_backend_does_not_open_it(failure: BackendFailed) -> None:
    bed = Bed(replace(RULES, breaker=BREAKER))

    bed.fail_call(failure, times=10)

    bed.call()


@pytest.mark.parametrize("reason", ["TimedOut", "TooLarge", "Overloaded", "Unauthorized"])
def test_every_call_that_fails_is_told_as_the_last_failure(bed: Bed, reason: str) -> None:
    bed.vitals.checked()

    bed.fail_call(BackendFailed("a", reason, "it failed."))

    assert bed.now.state is State.HEALTHY
    assert bed.now.last_failure is not None
    assert (bed.now.last_failure.stage, bed.now.last_failure.reason) == (Stage.CALL, reason)


def test_checks_that_fail_open_it_as_well() -> None:
    bed = Bed(replace(RULES, breaker=BREAKER))

    bed.fail(times=2, apart=1.0)

    assert bed.refusal().reason == "CircuitOpen"


def test_rules_that_change_hold_at_once(bed: Bed) -> None:
    bed.fail(times=2)

    bed.rules.set(replace(RULES, unhealthy_threshold=2, breaker=BREAKER, interval_seconds=5.0))
    bed.vitals.judge()

    assert bed.now.state is State.UNHEALTHY
    assert bed.now.circuit is not None
    assert bed.vitals.due_in(1.0) == 5.0


def test_a_breaker_that_is_switched_off_lets_all_pass() -> None:
    bed = Bed(replace(RULES, breaker=BREAKER))
    bed.fail_call(times=2)

    bed.rules.set(RULES)
    bed.vitals.judge()

    bed.call()
    assert bed.now.circuit is None


def test_transitions_are_logged_once_with_why_and_how_long_it_was_otherwise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    bed = Bed(replace(RULES, breaker=BreakerRules(failures=4, open_seconds=60.0)))
    bed.vitals.checked()
    bed.vitals.checked()
    bed.fail(times=4)
    bed.clock.move(60)
    bed.vitals.checked()
    bed.fail(FOREIGN, times=2)

    told = [(r.message, r.__dict__["was"], r.__dict__["seconds"]) for r in caplog.records]
    assert told == [
        ("backend is ready", "connecting", 0.0),
        ("backend is lost", "healthy", 30.0),
        ("backend is unhealthy", "degraded", 60.0),
        ("circuit is open", "closed", 120.0),
        ("backend is ready", "unhealthy", 90.0),
        ("circuit is closed", "open", 60.0),
        ("backend wants a credential", "healthy", 30.0),
    ]
    lost = vars(caplog.records[1])
    assert (lost["backend"], lost["stage"], lost["reason"]) == ("a", "probe", "Unreachable")


def test_a_backend_that_gets_busy_is_told_once(bed: Bed, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    bed.fail(busy(), times=3)

    assert [each.message for each in caplog.records] == ["backend is busy"]


def test_what_is_gone_is_published_no_more(bed: Bed) -> None:
    before = len(bed.shown)
    bed.vitals.detach()

    bed.fail()

    assert len(bed.shown) == before
