"""What a VirtualMCPServer says of all its backends, in words of the model; `spec.x` beats `spec.config.x`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from vmcp.config import headers
from vmcp.config.aggregation import AggregationSettings
from vmcp.config.health import FailureHandlingSettings
from vmcp.config.section import Section, faults_of
from vmcp.config.serving import TimeoutSettings
from vmcp.config.stated import health_rules, rules
from vmcp.crd import toolrules
from vmcp.crd.auth import Outgoing
from vmcp.crd.outgoing import outgoing
from vmcp.crd.scope import Scope
from vmcp.crd.specs.runtime_aggregation import Aggregation, WorkloadTools
from vmcp.crd.specs.runtime_operational import FailureHandling
from vmcp.crd.specs.virtual import VirtualMCPServerSpec
from vmcp.crd.unfit import Unfit, told
from vmcp.crd.world import Resource, World
from vmcp.model.health import HealthRules
from vmcp.model.rules import Rules, ToolRules

S = TypeVar("S", bound=Section)

# What keeps a caller's credential for this gateway from backends.
_NEVER_PASSED = frozenset(("authorization", "x-api-key"))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be served and how; `rules` and `health` are None where nobody says.

    `tools` holds what keeps single backends out, by name; `wrong` is told of the VirtualMCPServer, `closed`
    is why nobody may be served.
    """

    group: str
    timeout_seconds: float
    timeouts: Mapping[str, float]
    passthrough: tuple[str, ...]
    outgoing: Outgoing = field(default_factory=Outgoing)
    rules: Rules | None = None
    health: HealthRules | None = None
    tools: Mapping[str, Unfit] = field(default_factory=dict)
    wrong: tuple[Unfit, ...] = ()
    closed: Unfit | None = None


def of_group(group: str, scope: Scope) -> Plan:
    """Return the plan for all members of a group, where there is no VirtualMCPServer."""
    return Plan(group, scope.timeout_seconds, scope.timeouts, scope.passthrough)


def of_gateway(world: World, gateway: Resource, spec: VirtualMCPServerSpec) -> Plan:
    """Return the plan that a VirtualMCPServer states."""
    wrong: list[Unfit] = [_not_supported(name) for name in gateway.unsupported]
    aggregation = None if spec.config is None else spec.config.aggregation
    stated, tools = _rules(world, aggregation or Aggregation(), wrong)
    timeouts = _timeouts(spec, wrong)
    health = _health(spec, wrong)
    passthrough = _passthrough(spec, wrong)
    return Plan(
        group=spec.group_ref.name,
        timeout_seconds=timeouts.default,
        timeouts=timeouts.per_workload,
        passthrough=passthrough,
        outgoing=outgoing(spec),
        rules=stated,
        health=health,
        tools=tools,
        wrong=tuple(wrong),
        closed=_closed(gateway.protections),
    )


def _not_supported(name: str) -> Unfit:
    return Unfit(
        "FieldNotSupported",
        f"spec.{name} is not implemented in this version and has no effect. Delete it if you can do without.",
    )


def _closed(protections: Sequence[str]) -> Unfit | None:
    if not protections:
        return None
    names = ", ".join(f"spec.{name}" for name in protections)
    return Unfit(
        "IncomingAuthNotSupported",
        f"{names} asks for a protection that this version does not provide, so nobody is served. "
        "Remove it, and keep strangers out with API keys in the config file or with what stands in front.",
    )


def _rules(
    world: World, aggregation: Aggregation, wrong: list[Unfit]
) -> tuple[Rules, Mapping[str, Unfit]]:
    place = "config.aggregation"
    made = _checked(AggregationSettings, _names(aggregation), "AggregationInvalid", place, wrong)
    # Without rules that can be told, what was to be hidden would be shown.
    whole = Rules(exclude_all_tools=True) if made is None else rules(made)
    found: dict[str, ToolRules] = {}
    unfit: dict[str, Unfit] = {}
    for name, one in _tools(world, aggregation.tools or ()):
        if isinstance(one, Unfit):
            unfit[name] = one
            wrong.append(one)
        else:
            found[name] = one
    return whole.with_tools(found), unfit


def _names(aggregation: Aggregation) -> Mapping[str, Any]:
    """Return what is said of names; an empty format is none, and who is twice in an order stands where first."""
    settings = toolrules.dumped(aggregation)
    settings.pop("tools", None)
    details = settings.get("conflictResolutionConfig", {})
    if details.get("prefixFormat") == "":
        del details["prefixFormat"]
    if "priorityOrder" in details:
        details["priorityOrder"] = [*dict.fromkeys(details["priorityOrder"])]
    return settings


def _tools(
    world: World, entries: Sequence[WorkloadTools]
) -> Iterator[tuple[str, ToolRules | Unfit]]:
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        where = f"spec.config.aggregation.tools[{index}]"
        if entry.workload in seen:
            message = (
                f"{where} names '{entry.workload}', which another entry does. Make one of them."
            )
            yield entry.workload, Unfit("ToolConfigInvalid", message)
            continue
        seen.add(entry.workload)
        yield entry.workload, toolrules.of_gateway(world, entry, where)


def _timeouts(spec: VirtualMCPServerSpec, wrong: list[Unfit]) -> TimeoutSettings:
    operational = None if spec.config is None else spec.config.operational
    stated = None if operational is None else operational.timeouts
    settings = {} if stated is None else toolrules.dumped(stated)
    found = _checked(
        TimeoutSettings, settings, "FieldInvalid", "config.operational.timeouts", wrong
    )
    return TimeoutSettings() if found is None else found


def _health(spec: VirtualMCPServerSpec, wrong: list[Unfit]) -> HealthRules:
    operational = None if spec.config is None else spec.config.operational
    stated = None if operational is None else operational.failure_handling
    settings = toolrules.dumped(stated or FailureHandling())
    settings.pop("statusReportingInterval", None)
    place = "config.operational.failureHandling"
    found = _checked(FailureHandlingSettings, settings, "FieldInvalid", place, wrong)
    usual = FailureHandlingSettings.model_validate({"partialFailureMode": "fail"})
    return health_rules(usual if found is None else found)


def _passthrough(spec: VirtualMCPServerSpec, wrong: list[Unfit]) -> tuple[str, ...]:
    names = spec.passthrough_headers
    if names is None and spec.config is not None:
        names = spec.config.passthrough_headers
    found: set[str] = set()
    for name in names or ():
        lower = name.lower()
        if not headers.is_token(name) or headers.is_reserved(name) or lower in _NEVER_PASSED:
            message = (
                f"spec.passthroughHeaders names '{name}', which is never passed on. Remove it."
            )
            wrong.append(Unfit("FieldInvalid", message))
        else:
            found.add(lower)
    return tuple(sorted(found))


def _checked(
    section: type[S], settings: Mapping[str, Any], reason: str, place: str, wrong: list[Unfit]
) -> S | None:
    try:
        return section.model_validate(settings)
    except ValidationError as error:
        wrong.append(Unfit(reason, f"spec.{place}: {told(faults_of(error))}"))
        return None
