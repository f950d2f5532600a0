from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmcp.gateway.meter import Figures, Meter

START = 1000.0


def shown(*seconds: float, failures: int = 0, now: float = START + 30) -> Figures:
    meter = Meter(START)
    for number, each in enumerate(seconds):
        meter.count(now - each, now, is_failure=number < failures)
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
    meter.count(START, START + 1, is_failure=True)

    figures = meter.figures(START + 70)

    assert figures == Figures(1, 1, 0.0, 0.0, None, None)


def test_the_rate_of_a_long_run_is_that_of_the_last_minute() -> None:
    meter = Meter(0.0)
    for second in range(1000):
        for _ in range(5):
            meter.count(second, second + 0.5, is_failure=False)

    figures = meter.figures(1000.0)

    assert figures.called == 5000
    assert figures.calls_per_second == pytest.approx(5, rel=0.05)
