"""The rules of health that a config file states."""

from __future__ import annotations

from vmcp.config.health import CircuitBreakerSettings, FailureHandlingSettings
from vmcp.model.health import BreakerRules, HealthRules, PartialFailure


def health_rules(settings: FailureHandlingSettings) -> HealthRules:
    """Return the rules that the section `operational.failureHandling` states."""
    return HealthRules(
        interval_seconds=settings.health_check_interval,
        timeout_seconds=settings.health_check_timeout,
        unhealthy_threshold=settings.unhealthy_threshold,
        partial_failure=PartialFailure(settings.partial_failure_mode),
        breaker=_breaker(settings.circuit_breaker),
    )


def _breaker(settings: CircuitBreakerSettings) -> BreakerRules | None:
    if not settings.enabled:
        return None
    return BreakerRules(settings.failure_threshold, settings.timeout)
