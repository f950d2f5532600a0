"""The rules by which names are given and things are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Conflict(Enum):
    """What happens when two backends offer the same name."""

    PREFIX = "prefix"
    PREFIX_ON_CONFLICT = "prefixOnConflict"
    PRIORITY = "priority"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class ToolOverride:
    """What replaces parts of a tool's document; None leaves a part as it is.

    `annotations` maps an annotation's name to its raw JSON value; named members replace, the others stay.
    """

    name: str | None = None
    description: str | None = None
    annotations: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolRules:
    """The rules for the tools of one backend (`aggregation.tools[]`).

    `filter` holds names after override and before the prefix; None means no filter, that is all tools.
    """

    filter: frozenset[str] | None = None
    exclude_all: bool = False
    overrides: Mapping[str, ToolOverride] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rules:
    """All of `aggregation`, keyed by the public names of backends."""

    conflict: Conflict = Conflict.PREFIX
    prefix_format: str = "{workload}_"
    priority_order: tuple[str, ...] = ()
    tools: Mapping[str, ToolRules] = field(default_factory=dict)
    exclude_all_tools: bool = False
    show_unnamed: bool = True
    max_name_length: int = 64
    allow_dots: bool = True


DEFAULT_RULES = Rules()
