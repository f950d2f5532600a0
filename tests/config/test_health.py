from __future__ import annotations

import pytest

from tests.config.refusals import BOTH, refused
from vmcp.config.health import FailureHandlingSettings
from vmcp.config.parse import parse


def handling(keys: str) -> str:
    return f"{BOTH}operational: {{failureHandling: {{{keys}}}}}"


def settings(keys: str) -> FailureHandlingSettings:
    return parse(handling(keys)).operational.failure_handling


def test_backends_are_checked_without_being_told_to_and_the_breaker_is_off() -> None:
    found = parse(BOTH).operational.failure_handling

    assert (found.health_check_interval, found.health_check_timeout) == (30.0, 10.0)
    assert (found.unhealthy_threshold, found.partial_failure_mode) == (3, "best_effort")
    breaker = found.circuit_breaker
    assert (breaker.enabled, breaker.failure_threshold, breaker.timeout) == (False, 5, 60.0)


def test_each_key_is_read() -> None:
    found = settings(
        "healthCheckInterval: 1m, healthCheckTimeout: 2s, unhealthyThreshold: 1, "
        "partialFailureMode: fail, circuitBreaker: {enabled: true, failureThreshold: 2, timeout: 5s}"
    )

    assert (found.health_check_interval, found.health_check_timeout) == (60.0, 2.0)
    assert (found.unhealthy_threshold, found.partial_failure_mode) == (1, "fail")
    breaker = found.circuit_breaker
    assert (breaker.enabled, breaker.failure_threshold, breaker.timeout) == (True, 2, 5.0)


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("healthCheckInterval: 30", "healthCheckInterval"),
        ("healthCheckInterval: 0s", "healthCheckInterval"),
        ("healthCheckTimeout: soon", "healthCheckTimeout"),
        ("unhealthyThreshold: 0", "unhealthyThreshold"),
        ("unhealthyThreshold: 2.5", "unhealthyThreshold"),
        ("partialFailureMode: ignore", "partialFailureMode"),
        ("circuitBreaker: {enabled: yes please}", "circuitBreaker.enabled"),
        ("circuitBreaker: {enabled: true, failureThreshold: 0}", "circuitBreaker.failureThreshold"),
        ("circuitBreaker: {failureThreshold: 3}", "circuitBreaker"),
        ("statusReportingInterval: 1m", "statusReportingInterval"),
    ],
)
def test_what_is_wrong_is_named(keys: str, path: str) -> None:
    (error,) = refused(handling(keys))

    assert error.path == f"operational.failureHandling.{path}"


def test_a_breaker_may_be_off_and_keep_its_figures() -> None:
    assert not settings(
        "circuitBreaker: {enabled: false, failureThreshold: 3}"
    ).circuit_breaker.enabled
