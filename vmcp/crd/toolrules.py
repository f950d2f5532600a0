"""Rules for tools: those of an MCPToolConfig, those of a VirtualMCPServer, and both together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from vmcp.config.aggregation import ToolsSettings
from vmcp.config.section import faults_of
from vmcp.config.stated import tool_rules
from vmcp.crd.specs.base import Spec
from vmcp.crd.specs.runtime_aggregation import WorkloadTools
from vmcp.crd.specs.toolconfig import MCPToolConfigSpec, ToolOverrides
from vmcp.crd.unfit import Unfit, told
from vmcp.crd.world import TOOL_CONFIG, World
from vmcp.model.rules import ToolRules


def of_config(world: World, name: str, where: str) -> ToolRules | Unfit:
    """Return the rules of an MCPToolConfig; `where` names who refers to it."""
    found = _config(world, name, where)
    if isinstance(found, Unfit):
        return found
    return _stated({"workload": name, **_settings(found)}, f"{TOOL_CONFIG} '{name}'")


def of_gateway(world: World, tools: WorkloadTools, where: str) -> ToolRules | Unfit:
    """Return the rules that a gateway has for a backend: its own win over those of a config."""
    ref = tools.tool_config_ref
    shared: MCPToolConfigSpec | Unfit = (
        MCPToolConfigSpec() if ref is None else _config(world, ref.name, where)
    )
    if isinstance(shared, Unfit):
        return shared
    settings = _settings(shared)
    if tools.filter:
        settings["filter"] = [*tools.filter]
    own = _overrides(tools.overrides)
    settings["overrides"] = {**settings["overrides"], **own}
    return _stated(
        {"workload": tools.workload, "excludeAll": bool(tools.exclude_all), **settings}, where
    )


def dumped(spec: Spec) -> dict[str, Any]:
    """Return a part of a spec as it is written, without what is absent."""
    kind: Any = type(spec)
    found: dict[str, Any] = _adapter(kind).dump_python(
        spec, mode="json", by_alias=True, exclude_none=True
    )
    return found


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _config(world: World, name: str, where: str) -> MCPToolConfigSpec | Unfit:
    found = world.resource(TOOL_CONFIG, name)
    if found is None:
        return Unfit(
            "ToolConfigNotFound",
            f"{where} names {TOOL_CONFIG} '{name}', which does not exist in namespace "
            f"'{world.namespace}'. Create it, or correct the name.",
        )
    if not isinstance(found.spec, MCPToolConfigSpec):
        return Unfit(
            "ToolConfigInvalid",
            f"{where} names {TOOL_CONFIG} '{name}', whose spec is not valid. "
            "Its own problem tells what to correct.",
        )
    return found.spec


def _settings(spec: MCPToolConfigSpec) -> dict[str, Any]:
    # An empty filter is none: all tools are shown.
    shown = {"filter": [*spec.tools_filter]} if spec.tools_filter else {}
    return {**shown, "overrides": _overrides(spec.tools_override)}


def _overrides(overrides: ToolOverrides | None) -> dict[str, Any]:
    found = {name: dumped(one) for name, one in (overrides or {}).items()}
    # An empty name is none.
    return {
        name: {key: value for key, value in one.items() if (key, value) != ("name", "")}
        for name, one in found.items()
    }


def _stated(settings: Mapping[str, Any], where: str) -> ToolRules | Unfit:
    try:
        return tool_rules(ToolsSettings.model_validate(settings))
    except ValidationError as error:
        return Unfit("ToolConfigInvalid", f"{where}: {told(faults_of(error))}")
