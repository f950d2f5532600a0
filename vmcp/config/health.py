"""The section `operational.failureHandling`: how backends are looked after, and what their failures do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vmcp.config.faults import Fault
from vmcp.config.section import Section
from vmcp.config.values import Duration, Flag, Whole, choice

PartialFailureMode = Literal["best_effort", "fail"]
Count = Annotated[Whole, Field(ge=1, le=1000)]


class CircuitBreakerSettings(Section):
    """Whether a backend that fails again and again is spared for a while.

    Calls to it then fail at once, and one in the end finds out whether it is well again.
    """

    enabled: Flag = Field(default=False, description="Whether there is a breaker.")
    failure_threshold: Count = Field(
        default=5, description="The failed calls and checks in a row that open it."
    )
    timeout: Duration = Field(
        default=60.0,
        json_schema_extra={"default": "60s"},
        description="How long it is open before one call or check is let through.",
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Refuse the figures of a breaker that nobody has switched on or off."""
        if given and "enabled" not in given:
            yield Fault(
                (),
                "Does nothing: the breaker is off.",
                found="no key enabled",
                allowed="enabled: true, or enabled: false to keep the figures for later",
            )


class FailureHandlingSettings(Section):
    """How backends are looked after, and what their failures do.

    A check is a ping or, where the backend is stateless, `server/discover`; an attempt to connect is one as well.
    A backend that has answered a call meanwhile needs none.
    """

    # It paces the status of a custom resource; a file has no status that would be reported.
    later: ClassVar[frozenset[str]] = frozenset({"statusReportingInterval"})

    health_check_interval: Duration = Field(
        default=30.0,
        json_schema_extra={"default": "30s"},
        description="The time between two checks of a backend, with up to 10 % more or less.",
    )
    health_check_timeout: Duration = Field(
        default=10.0,
        json_schema_extra={"default": "10s"},
        description="How long a check may take.",
    )
    unhealthy_threshold: Count = Field(
        default=3,
        description=(
            "The failed checks in a row, one for each interval at most, after which a backend is "
            "unhealthy: what it offers leaves the lists until it is back."
        ),
    )
    partial_failure_mode: Annotated[PartialFailureMode, choice(PartialFailureMode)] = Field(
        default="best_effort",
        description=(
            "`best_effort`: an unhealthy backend is left out of the lists. `fail`: lists and "
            "`server/discover` are answered with an error while any backend is unhealthy."
        ),
    )
    circuit_breaker: CircuitBreakerSettings = Field(
        default=CircuitBreakerSettings(),
        description="When calls to a failing backend are not tried.",
    )
