"""What the sources know: a Contribution each, and the Snapshot of them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vmcp.model.auth import AuthDecision
from vmcp.model.backend import Backend
from vmcp.model.health import DEFAULT_HEALTH, HealthRules
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.rules import DEFAULT_RULES, Rules, ToolRules
from vmcp.model.view import ViewRules


@dataclass(frozen=True, slots=True)
class Contribution:
    """The whole present state of one source; `rules` and `views` are None where another source gives them.

    `own_tools` are rules that belong to backends themselves, by public name: they come before those of `rules`.
    `decisions` tells who decided on the auth of a backend. `closed` is why nobody may be served at all.
    `is_known` is false until the source knows its state for the first time.
    """

    source: str
    backends: tuple[Backend, ...] = ()
    problems: tuple[Problem, ...] = ()
    rules: Rules | None = None
    health: HealthRules | None = None
    views: tuple[ViewRules, ...] | None = None
    own_tools: Mapping[str, ToolRules] = field(default_factory=dict)
    decisions: Mapping[ObjectKey, AuthDecision] = field(default_factory=dict)
    closed: Problem | None = None
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All contributions as one value: backends in the order of their public names, which are unique."""

    backends: tuple[Backend, ...] = ()
    problems: tuple[Problem, ...] = ()
    rules: Rules = DEFAULT_RULES
    health: HealthRules = DEFAULT_HEALTH
    views: tuple[ViewRules, ...] = ()
    decisions: Mapping[ObjectKey, AuthDecision] = field(default_factory=dict)
    closed: Problem | None = None
    is_known: bool = True

    def by_key(self) -> dict[ObjectKey, Backend]:
        """Return the backends by their keys."""
        return {backend.key: backend for backend in self.backends}
