from __future__ import annotations

from vmcp.config.health import FailureHandlingSettings
from vmcp.config.stated import health_rules
from vmcp.model.health import DEFAULT_HEALTH, BreakerRules, HealthRules, PartialFailure


def test_a_section_without_keys_states_the_rules_that_hold_where_nobody_states_any() -> None:
    assert health_rules(FailureHandlingSettings()) == DEFAULT_HEALTH


def test_each_setting_becomes_a_rule() -> None:
    settings = FailureHandlingSettings.model_validate(
        {
            "healthCheckInterval": "1m",
            "healthCheckTimeout": "2s",
            "unhealthyThreshold": 1,
            "partialFailureMode": "fail",
            "circuitBreaker": {"enabled": True, "failureThreshold": 2, "timeout": "5s"},
        }
    )

    assert health_rules(settings) == HealthRules(
        interval_seconds=60.0,
        timeout_seconds=2.0,
        unhealthy_threshold=1,
        partial_failure=PartialFailure.FAIL,
        breaker=BreakerRules(failures=2, open_seconds=5.0),
    )
