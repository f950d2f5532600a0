"""The section `operational` of a gateway's config: time, and what happens when backends fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from vmcp.config import durations
from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.values import Duration, Flag, Positive, Text, Whole


@spec
class CircuitBreaker(Spec):
    """When calls to a failing backend are no longer tried."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.timeout) || duration(self.timeout) >= duration('1s')",
            "timeout must be 1s or more.",
            lambda breaker: durations.seconds(breaker.timeout) >= 1,
            ("timeout",),
        ),
    )

    enabled: Flag = Field(default=False, description="Whether there is one.")
    failure_threshold: Positive = Field(
        default=5, description="How many failures in a row open it."
    )
    timeout: Duration = Field(default="60s", description="How long it stays open.")


@spec
class FailureHandling(Spec):
    """What happens when backends fail."""

    health_check_interval: Duration = Field(
        default="30s", description="The time between two checks of a backend."
    )
    health_check_timeout: Duration = Field(default="10s", description="How long a check may take.")
    unhealthy_threshold: Whole = Field(
        default=3, description="How many failed checks in a row make a backend unhealthy."
    )
    partial_failure_mode: Literal["fail", "best_effort"] = Field(
        default="fail",
        description="Whether lists fail while a backend is unhealthy, or are made without it.",
    )
    status_reporting_interval: Duration = Field(
        default="30s", description="The time between two reports of the status."
    )
    circuit_breaker: CircuitBreaker | None = Field(
        default=None, description="When calls to a failing backend are no longer tried."
    )


@spec
class Timeouts(Spec):
    """How long calls may take."""

    default: Duration = Field(default="30s", description="A call to any backend.")
    per_workload: Mapping[Text, Duration] | None = Field(
        default=None, description="A call to one backend, by its name."
    )


@spec
class Operational(Spec):
    """How the gateway runs."""

    log_level: Literal["debug"] | None = Field(
        default=None, description="`debug` for a detailed log."
    )
    timeouts: Timeouts | None = Field(default=None, description="How long calls may take.")
    failure_handling: FailureHandling | None = Field(
        default=None, description="What happens when backends fail."
    )
