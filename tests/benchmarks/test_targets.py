"""Verdicts compare the gateway with the relay and keep their floors."""

from __future__ import annotations

import math

import pytest

from benchmarks.rows import Row
from benchmarks.targets import (
    Verdict,
    count_verdict,
    memory_verdict,
    observation_verdicts,
    relay_verdicts,
    request_verdict,
    time_verdict,
)

ROWS = [
    Row("direct", "stateless", 1, p50_ms=0.1),
    Row("relay", "stateless", 1, p50_ms=0.3),
    Row("gateway", "stateless", 1, p50_ms=0.6),
    Row("relay", "stateless", 32, calls_per_second=1000, cpu_ms_per_call=0.2),
    Row("gateway", "stateless", 32, calls_per_second=500, cpu_ms_per_call=0.3),
    Row("relay-1mb", "stateless", 4, cpu_ms_per_call=1.0),
    Row("gateway-1mb", "stateless", 4, cpu_ms_per_call=2.0),
    Row("relay-5mb", "stateless", 4, calls_per_second=100.0),
    Row("gateway-5mb", "stateless", 4, calls_per_second=60.0),
]


def test_the_gateway_is_compared_with_the_relay() -> None:
    share, cpu, latency, big, largest = relay_verdicts(ROWS)

    assert share.value == 0.5
    assert cpu.value == pytest.approx(1.5)
    assert latency.value == pytest.approx(2.5)
    assert (big.value, largest.value) == (2.0, 0.6)
    assert (largest.meets_target, largest.meets_floor) == (False, True)
    assert [v.meets_target for v in (share, cpu, latency, big)] == [False, True, False, False]
    assert [v.meets_floor for v in (share, cpu, latency, big)] == [True, True, True, False]


def test_a_gateway_that_is_watched_is_compared_with_one_that_is_not() -> None:
    watched = [
        Row("gateway-scraped", "stateless", 32, calls_per_second=480),
        Row("gateway-traced", "stateless", 32, calls_per_second=290),
    ]
    scraped, traced = observation_verdicts([*ROWS, *watched])

    assert (scraped.value, traced.value) == (0.96, 0.58)
    assert (scraped.meets_target, scraped.meets_floor) == (True, True)
    assert (traced.meets_target, traced.meets_floor) == (False, False)
    assert list(observation_verdicts(ROWS)) == []


def test_what_was_not_measured_is_not_judged() -> None:
    assert list(relay_verdicts([row for row in ROWS if row.case != "gateway"])) != []
    assert list(relay_verdicts([row for row in ROWS if "gateway" not in row.case])) == []


@pytest.mark.parametrize(
    ("verdict", "meets_target", "meets_floor"),
    [
        pytest.param(time_verdict("", 19.0, 20.0), True, True, id="in time"),
        pytest.param(time_verdict("", 99.0, 20.0), False, True, id="slow"),
        pytest.param(time_verdict("", 101.0, 20.0), False, False, id="too slow"),
        pytest.param(time_verdict("", None, 20.0), False, False, id="never"),
        pytest.param(count_verdict("", 10, 10), True, True, id="all there"),
        pytest.param(count_verdict("", 9, 10), False, False, id="one missing"),
        pytest.param(request_verdict("", 1.0), True, True, id="one request"),
        pytest.param(request_verdict("", 1.001), False, False, id="a request too many"),
    ],
)
def test_floors_are_lower_than_targets_except_for_counts(
    verdict: Verdict, *, meets_target: bool, meets_floor: bool
) -> None:
    assert verdict.meets_target is meets_target
    assert verdict.meets_floor is meets_floor


def test_memory_has_the_slack_of_a_ratio_and_none_that_is_unknown_is_missed() -> None:
    small, larger, largest, unknown = (
        memory_verdict("memory", value, 6, "KB") for value in (6, 8, 10, math.nan)
    )

    assert [each.meets_target for each in (small, larger, largest, unknown)] == [
        True,
        False,
        False,
        True,
    ]
    assert larger.meets_floor
    assert not largest.meets_floor
