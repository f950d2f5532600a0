"""The rules that a config states, in a file or in a custom resource, as values of the model."""

from __future__ import annotations

import json
from typing import assert_never

from vmcp.config.aggregation import AggregationSettings, OverrideSettings, ToolsSettings
from vmcp.config.health import CircuitBreakerSettings, FailureHandlingSettings
from vmcp.model.health import BreakerRules, HealthRules, PartialFailure
from vmcp.model.rules import Conflict, Rules, ToolOverride, ToolRules


def rules(aggregation: AggregationSettings) -> Rules:
    """Return the rules that the section `aggregation` states."""
    details = aggregation.conflict_resolution_config
    return Rules(
        conflict=_conflict(aggregation),
        prefix_format=details.prefix_format,
        priority_order=details.priority_order,
        tools={entry.workload: tool_rules(entry) for entry in aggregation.tools},
        exclude_all_tools=aggregation.exclude_all_tools,
        show_unnamed=aggregation.default_tool_visibility == "allow",
        max_name_length=aggregation.max_name_length,
        allow_dots=aggregation.allow_dots,
    )


def _conflict(aggregation: AggregationSettings) -> Conflict:
    match aggregation.conflict_resolution:
        case "prefix" if aggregation.conflict_resolution_config.prefix_on_conflict:
            return Conflict.PREFIX_ON_CONFLICT
        case "prefix":
            return Conflict.PREFIX
        case "priority":
            return Conflict.PRIORITY
        case "manual":
            return Conflict.MANUAL
        case other:
            assert_never(other)


def tool_rules(entry: ToolsSettings) -> ToolRules:
    """Return the rules that an entry of `aggregation.tools` states."""
    return ToolRules(
        filter=None if entry.filter is None else frozenset(entry.filter),
        exclude_all=entry.exclude_all,
        overrides={name: _override(one) for name, one in entry.overrides.items()},
    )


def _override(settings: OverrideSettings) -> ToolOverride:
    annotations = settings.annotations
    given = {} if annotations is None else annotations.model_dump(by_alias=True, exclude_none=True)
    return ToolOverride(
        name=settings.name,
        description=settings.description,
        annotations={
            name: json.dumps(value, ensure_ascii=False).encode() for name, value in given.items()
        },
    )


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
