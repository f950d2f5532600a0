"""The section `aggregation` of a gateway's config: which names clients see, and which tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.references import NameRef
from vmcp.crd.specs.toolconfig import ToolOverrides
from vmcp.crd.specs.values import Flag, Text, Texts, Whole


@spec
class ConflictSettings(Spec):
    """The settings of the resolution."""

    prefix_format: Text = Field(
        default="{workload}_",
        description="What is put before a name; `{workload}` stands for the backend's name.",
    )
    priority_order: Texts | None = Field(
        default=None, description="Backends, the most important first."
    )
    prefix_on_conflict: Flag | None = Field(
        default=None,
        description="With `prefix`: put it before shared names alone (an addition of vmcp).",
    )


@spec
class WorkloadTools(Spec):
    """The rules for the tools of one backend."""

    workload: Text = Field(description="The name of the backend.")
    tool_config_ref: NameRef | None = Field(
        default=None, description="An MCPToolConfig; what stands here wins over it."
    )
    filter: Texts | None = Field(
        default=None,
        description="The only tools to show, by their names after `overrides`; all if empty.",
    )
    overrides: ToolOverrides | None = Field(
        default=None, description="What is replaced, by the names that the backend gives its tools."
    )
    exclude_all: Flag | None = Field(default=None, description="Show none of its tools.")


@spec
class Aggregation(Spec):
    """How the tools of many backends become one list."""

    conflict_resolution: Literal["prefix", "priority", "manual"] = Field(
        default="prefix", description="What happens to names that backends share."
    )
    conflict_resolution_config: ConflictSettings | None = Field(
        default=None, description="The settings of the resolution."
    )
    tools: tuple[WorkloadTools, ...] | None = Field(
        default=None, description="The rules for tools, one entry for a backend."
    )
    exclude_all_tools: Flag | None = Field(
        default=None, description="Show no tools at all; resources and prompts stay."
    )
    default_tool_visibility: Literal["allow", "deny"] | None = Field(
        default=None, description="`deny` shows only tools of backends that `tools` names."
    )
    max_name_length: Annotated[Whole, Field(ge=16, le=256)] | None = Field(
        default=None, description="The longest name that clients see (an addition of vmcp)."
    )
    allow_dots: Flag | None = Field(
        default=None, description="Whether names may hold dots (an addition of vmcp)."
    )
