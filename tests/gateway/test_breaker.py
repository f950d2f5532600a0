from __future__ import annotations

import pytest

from vmcp.gateway.breaker import Breaker
from vmcp.model.health import BreakerRules, Circuit

OPEN_SECONDS = 60.0


@pytest.fixture
def breaker() -> Breaker:
    return Breaker(BreakerRules(failures=3, open_seconds=OPEN_SECONDS))


def opened(breaker: Breaker) -> Breaker:
    for _ in range(3):
        breaker.call_failed(0.0)
    return breaker


def test_it_opens_when_so_many_calls_have_failed_in_a_row(breaker: Breaker) -> None:
    breaker.call_failed(1.0)
    breaker.call_failed(2.0)
    before = breaker.state

    breaker.call_failed(3.0)

    assert (before, breaker.state) == (Circuit.CLOSED, Circuit.OPEN)
    assert breaker.refusal(13.0) == 50.0


def test_a_call_that_is_answered_begins_the_row_anew(breaker: Breaker) -> None:
    for now in (1.0, 2.0):
        breaker.call_failed(now)
        breaker.check_failed(now)
        breaker.call_succeeded(now)

    assert breaker.is_calm


def test_checks_count_as_calls_do(breaker: Breaker) -> None:
    breaker.check_failed(1.0)
    breaker.call_failed(2.0)
    breaker.check_failed(3.0)

    assert breaker.state is Circuit.OPEN


def test_a_check_that_is_answered_forgives_checks_alone(breaker: Breaker) -> None:
    breaker.check_failed(1.0)
    breaker.call_failed(1.0)
    breaker.check_succeeded(2.0)
    breaker.call_failed(3.0)
    before = breaker.state

    breaker.call_failed(4.0)

    assert (before, breaker.state) == (Circuit.CLOSED, Circuit.OPEN)


def test_once_its_time_is_over_one_call_finds_out_and_the_others_wait(breaker: Breaker) -> None:
    opened(breaker)

    assert breaker.refusal(OPEN_SECONDS) is None
    assert breaker.state is Circuit.HALF_OPEN
    assert breaker.refusal(OPEN_SECONDS) is not None


def test_the_call_that_finds_out_closes_it(breaker: Breaker) -> None:
    opened(breaker).refusal(OPEN_SECONDS)

    breaker.call_succeeded(OPEN_SECONDS + 1)

    assert breaker.is_calm
    assert breaker.refusal(OPEN_SECONDS + 1) is None


def test_or_opens_it_for_as_long_again(breaker: Breaker) -> None:
    opened(breaker).refusal(OPEN_SECONDS)

    breaker.call_failed(OPEN_SECONDS + 1)

    assert breaker.state is Circuit.OPEN
    assert breaker.refusal(OPEN_SECONDS + 2) == OPEN_SECONDS - 1


def test_a_call_that_shows_nothing_leaves_its_turn_to_the_next_one(breaker: Breaker) -> None:
    opened(breaker).refusal(OPEN_SECONDS)

    breaker.undecided()

    assert breaker.state is Circuit.HALF_OPEN
    assert breaker.refusal(OPEN_SECONDS) is None


@pytest.mark.parametrize("answered", [Breaker.call_succeeded, Breaker.check_succeeded])
def test_an_answer_to_what_was_sent_before_it_opened_does_not_close_it(
    breaker: Breaker, answered: object
) -> None:
    opened(breaker)

    answered(breaker, 1.0)  # type: ignore[operator]

    assert breaker.state is Circuit.OPEN


def test_a_check_may_find_out_as_well(breaker: Breaker) -> None:
    opened(breaker)

    breaker.check_succeeded(OPEN_SECONDS)

    assert breaker.state is Circuit.CLOSED


def test_a_check_that_fails_after_its_time_keeps_it_open(breaker: Breaker) -> None:
    opened(breaker)

    breaker.check_failed(OPEN_SECONDS + 5)

    assert breaker.refusal(OPEN_SECONDS + 5) == OPEN_SECONDS


def test_a_failure_while_it_is_open_does_not_make_it_longer(breaker: Breaker) -> None:
    opened(breaker)

    breaker.call_failed(10.0)

    assert breaker.refusal(10.0) == OPEN_SECONDS - 10
