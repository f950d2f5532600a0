"""The rules by which names are given and things are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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

    def after(self, inner: ToolRules) -> ToolRules:
        """Return the rules that do what the inner ones do and then these, which see what the inner ones show."""
        overrides = {
            old: self._further(one, one.name or old) for old, one in inner.overrides.items()
        }
        renamed = {one.name for one in inner.overrides.values() if one.name} | {*inner.overrides}
        overrides |= {old: one for old, one in self.overrides.items() if old not in renamed}
        return ToolRules(
            filter=self._filter_after(inner.filter),
            exclude_all=self.exclude_all or inner.exclude_all,
            overrides=overrides,
        )

    def _further(self, before: ToolOverride, name: str) -> ToolOverride:
        own = self.overrides.get(name)
        if own is None:
            return before
        return ToolOverride(
            name=own.name or before.name,
            description=before.description if own.description is None else own.description,
            annotations={**before.annotations, **own.annotations},
        )

    def _filter_after(self, inner: frozenset[str] | None) -> frozenset[str] | None:
        if inner is None:
            return self.filter
        shown = frozenset(self._renamed(name) for name in inner)
        return shown if self.filter is None else shown & self.filter

    def _renamed(self, name: str) -> str:
        own = self.overrides.get(name)
        return name if own is None or own.name is None else own.name


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

    def with_tools(self, tools: Mapping[str, ToolRules]) -> Rules:
        """Return the rules with those of some backends."""
        return replace(self, tools={**self.tools, **tools})

    def with_own(self, own: Mapping[str, ToolRules]) -> Rules:
        """Return the rules in which backends have their own ones first; who is not shown stays so."""
        composed = {
            name: self.tools.get(name, ToolRules()).after(inner)
            for name, inner in own.items()
            if self.show_unnamed or name in self.tools
        }
        return replace(self, tools={**self.tools, **composed}) if composed else self


DEFAULT_RULES = Rules()
