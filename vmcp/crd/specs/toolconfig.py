"""MCPToolConfig: which tools of a server are shown, and how they are called."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.conditions import ConfigStatus
from vmcp.crd.specs.values import Flag, Text, TextSet


@spec
class ToolAnnotations(Spec):
    """What a tool tells of how it behaves."""

    title: Text | None = Field(default=None, description="A title for people.")
    read_only_hint: Flag | None = Field(default=None, description="It changes nothing.")
    destructive_hint: Flag | None = Field(default=None, description="It may destroy something.")
    idempotent_hint: Flag | None = Field(
        default=None, description="Calling it again with the same arguments changes no more."
    )
    open_world_hint: Flag | None = Field(
        default=None, description="It reaches beyond a closed domain."
    )


@spec
class ToolOverride(Spec):
    """What replaces parts of a tool; the rest stays as the server tells it."""

    name: Text | None = Field(default=None, description="The name that it gets, before any prefix.")
    description: Text | None = Field(default=None, description="The description that it gets.")
    annotations: ToolAnnotations | None = Field(
        default=None, description="The annotations that are replaced; the others stay."
    )


ToolOverrides = Mapping[Text, ToolOverride]


@spec
class MCPToolConfigSpec(Spec):
    """Rules for the tools of those who refer to this object."""

    tools_filter: TextSet | None = Field(
        default=None,
        description="The only tools to show, by their names after `toolsOverride`; all if empty.",
    )
    tools_override: ToolOverrides | None = Field(
        default=None, description="What is replaced, by the names that the server gives its tools."
    )


@spec
class MCPToolConfigStatus(ConfigStatus):
    """Whether the rules are valid, and who uses them."""
