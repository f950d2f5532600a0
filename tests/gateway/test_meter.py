from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmcp.gateway.meter import CALL_BOUNDS, CANCELLED, ERROR, FAILED, OK, OTHER, Figures, Meter

START = 1000.0


def shown(*seconds: float, failures: int = 0, now: float = START + 30) -> Figures:
    meter = Meter(START)
    for number, each in enumerate(seconds):
        meter.count("tools/call", now - each, now, FAILED if number < failures else OK)
    return meter.figures(now)


def test_a_backend_without_calls_has_rates_and_no_times() -> None:
    assert Meter(START).figures(START) == Figures(0, 0, 0.0, 0.0, None, None)


def test_calls_and_failures_are_counted() -> None:
    figures = shown(*[0.01] * 30, failures=6)

    assert (figures.called, figures.failed) == (30, 6)
    assert figures.calls_per_second == pytest.approx(1)
    assert figures.failures_per_second == pytest.approx(0.2)


def test_the_99th_percentile_tells_of_the_slowest_alone() -> None:
    figures = shown(*[0.002] * 98, 1.0, 1.0)

    assert figures.p50_seconds == pytest.approx(0.002, rel=0.13)
    assert figures.p99_seconds == pytest.approx(1.0, rel=0.13)


@given(st.floats(min_value=0.0001, max_value=2000))
def test_a_time_is_never_shown_too_low_and_hardly_too_high(seconds: float) -> None:
    figures = shown(seconds, now=3000.0)

    assert figures.p50_seconds is not None
    assert seconds * 0.9999 <= figures.p50_seconds <= seconds * 1.13


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e-9, 1e9], ids=str)
def test_times_out_of_bounds_are_counted_too(seconds: float) -> None:
    assert shown(seconds).p50_seconds is not None


def test_what_is_older_than_a_minute_counts_in_the_totals_alone() -> None:
    meter = Meter(START)
    meter.count("tools/call", START, START + 1, FAILED)

    figures = meter.figures(START + 70)

    assert figures == Figures(1, 1, 0.0, 0.0, None, None)


def test_the_rate_of_a_long_run_is_that_of_the_last_minute() -> None:
    meter = Meter(0.0)
    for second in range(1000):
        for _ in range(5):
            meter.count("tools/call", second, second + 0.5, OK)

    figures = meter.figures(1000.0)

    assert figures.called == 5000
    assert figures.calls_per_second == pytest.approx(5, rel=0.05)


def test_calls_are_counted_by_method_and_by_how_they_end() -> None:
    meter = Meter(START)
    for method, outcome in (
        ("tools/call", OK),
        ("tools/call", ERROR),
        ("tools/call", FAILED),
        ("prompts/get", CANCELLED),
    ):
        meter.count(method, START, START + 1, outcome)

    counted = {method: tally.outcomes for method, tally in meter.tallies.items()}

    assert counted == {"tools/call": [1, 1, 1, 0], "prompts/get": [0, 0, 0, 1]}


def test_methods_that_nobody_knows_are_counted_as_one() -> None:
    meter = Meter(START)

    for number in range(1000):
        meter.count(f"invented/{number}", START, START, OK)

    assert {method: sum(tally.outcomes) for method, tally in meter.tallies.items()} == {OTHER: 1000}


@pytest.mark.parametrize(
    ("seconds", "place"),
    [(0.0, 0), (0.001, 0), (0.0011, 1), (1.0, CALL_BOUNDS.index(1.0)), (61.0, -1)],
    ids=str,
)
def test_a_time_counts_up_to_the_first_bound_that_it_does_not_exceed(
    seconds: float, place: int
) -> None:
    meter = Meter(0.0)
    meter.count("tools/call", 0.0, seconds, OK)

    tally = meter.tallies["tools/call"]

    assert tally.buckets[place] == sum(tally.buckets) == 1
    assert tally.seconds == seconds


def test_the_reasons_of_failures_are_counted_with_those_that_refused_a_call_before_it_began() -> (
    None
):
    meter = Meter(START)

    for reason in ("TimedOut", "Overloaded", "TimedOut"):
        meter.failed(reason)

    assert meter.reasons == {"TimedOut": 2, "Overloaded": 1}
    assert meter.figures(START).called == 0
