"""The section `aggregation`: which names clients see, and which tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from vmcp.config.faults import Fault, fault, repeated, shown
from vmcp.config.raw import mapping, sequence, texts
from vmcp.config.section import Section
from vmcp.config.values import FilledText, Flag, Text, Whole, choice

Resolution = Literal["prefix", "priority", "manual"]
Visibility = Literal["allow", "deny"]

_PREFIX_PATTERN = r"^[A-Za-z0-9_.-]*\{workload\}[A-Za-z0-9_.-]*$"
_MIN_NAME_LENGTH, _MAX_NAME_LENGTH = 16, 256


def _prefix_format(value: str) -> str:
    if re.fullmatch(_PREFIX_PATTERN, value) is None:
        raise fault(
            "Is not a format for a prefix.",
            found=shown(value),
            allowed="{workload} once, around it letters, digits, '_', '.' and '-'",
        )
    return value


PrefixFormat = Annotated[
    Text, AfterValidator(_prefix_format), Field(json_schema_extra={"pattern": _PREFIX_PATTERN})
]


class AnnotationSettings(Section):
    """Annotations of a tool that replace its own."""

    title: Text | None = Field(default=None, description="A title for people.")
    read_only_hint: Flag | None = Field(default=None, description="It changes nothing.")
    destructive_hint: Flag | None = Field(default=None, description="It may destroy something.")
    idempotent_hint: Flag | None = Field(
        default=None, description="Calling it again changes no more."
    )
    open_world_hint: Flag | None = Field(
        default=None, description="It reaches beyond a closed domain."
    )


class OverrideSettings(Section):
    """What replaces parts of a tool's document; the rest stays as the backend sent it."""

    name: FilledText | None = Field(
        default=None, description="The name that it gets, before any prefix."
    )
    description: Text | None = Field(default=None, description="The description that it gets.")
    annotations: AnnotationSettings | None = Field(
        default=None, description="The annotations that are replaced; the others stay."
    )


class ToolsSettings(Section):
    """The rules for the tools of one backend."""

    later: ClassVar[frozenset[str]] = frozenset({"toolConfigRef"})

    workload: FilledText = Field(description="The name of the backend.")
    filter: Annotated[tuple[FilledText, ...], Field(json_schema_extra={"minItems": 1})] | None = (
        Field(
            default=None,
            description="The only tools to show, by their names after `overrides`; all if absent.",
        )
    )
    overrides: Mapping[str, OverrideSettings] = Field(
        default={}, description="What is replaced, by the names that the backend gives its tools."
    )
    exclude_all: Flag = Field(default=False, description="Show none of its tools.")

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Refuse a filter without names, which could mean all tools or none."""
        if given.get("filter") == []:
            yield Fault(
                ("filter",),
                "Names no tool.",
                found="an empty list",
                suggestion="Delete the key to show all tools, or use excludeAll to show none.",
            )


class ConflictSettings(Section):
    """The settings of `conflictResolution`."""

    prefix_format: PrefixFormat = Field(
        default="{workload}_",
        description="What is put before a name; `{workload}` stands for the backend's name.",
    )
    priority_order: tuple[FilledText, ...] = Field(
        default=(),
        description=(
            "Backends, the most important first: the first one that offers a name has it under "
            "`priority`, and a resource's URI under every resolution."
        ),
    )
    prefix_on_conflict: Flag = Field(
        default=False,
        description="With `prefix`: put it before shared names alone.",
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Refuse a backend that is listed twice."""
        yield from repeated(texts(given, "priorityOrder"), ("priorityOrder",))


class AggregationSettings(Section):
    """The names under which clients see the things of all backends, and which they see.

    Overrides come first, then the filter, then `excludeAll`, then the resolution of conflicts.
    """

    conflict_resolution: Annotated[Resolution, choice(Resolution)] = Field(
        default="prefix",
        description=(
            "What happens to names that backends share: `prefix` puts the backend's name before "
            "every name, `priority` lets one backend win, `manual` drops those that no override "
            "tells apart."
        ),
    )
    conflict_resolution_config: ConflictSettings = Field(
        default=ConflictSettings(), description="The settings of the resolution."
    )
    tools: tuple[ToolsSettings, ...] = Field(
        default=(), description="The rules for tools, one entry for a backend."
    )
    exclude_all_tools: Flag = Field(
        default=False, description="Show no tools at all; resources and prompts stay."
    )
    default_tool_visibility: Annotated[Visibility, choice(Visibility)] = Field(
        default="allow",
        description="`deny` shows only tools of backends that `tools` names.",
    )
    max_name_length: Annotated[Whole, Field(ge=_MIN_NAME_LENGTH, le=_MAX_NAME_LENGTH)] = Field(
        default=64,
        description=(
            "The longest name that clients see; longer ones are cut and get a stable suffix "
            "(an addition of this project)."
        ),
    )
    allow_dots: Flag = Field(
        default=True,
        description="Whether names may hold dots, which some clients refuse.",
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Check the settings of the resolution, and that a backend has one entry in `tools`."""
        resolution = given.get("conflictResolution", "prefix")
        details = mapping(given, "conflictResolutionConfig")
        place = "conflictResolutionConfig"
        if resolution == "priority" and not sequence(details, "priorityOrder"):
            yield Fault((place, "priorityOrder"), "The resolution priority needs it.")
        if resolution in ("priority", "manual") and details.get("prefixOnConflict") is True:
            yield Fault(
                (place, "prefixOnConflict"),
                f"Has no effect with the resolution {resolution}.",
                allowed="only with the resolution prefix",
            )
        names = [mapping(entry).get("workload") for entry in sequence(given, "tools")]
        numbered = [(i, name) for i, name in enumerate(names) if isinstance(name, str)]
        yield from repeated(numbered, ("tools",), ("workload",))
