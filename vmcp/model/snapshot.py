"""What the sources know: a Contribution each, and the Snapshot of them all."""

from __future__ import annotations

from dataclasses import dataclass

from vmcp.model.backend import Backend
from vmcp.model.health import DEFAULT_HEALTH, HealthRules
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.rules import DEFAULT_RULES, Rules
from vmcp.model.view import ViewRules


@dataclass(frozen=True, slots=True)
class Contribution:
    """The whole present state of one source; `rules` and `views` are None where another source gives them."""

    source: str
    backends: tuple[Backend, ...] = ()
    problems: tuple[Problem, ...] = ()
    rules: Rules | None = None
    health: HealthRules | None = None
    views: tuple[ViewRules, ...] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All contributions as one value: backends in the order of their public names, which are unique."""

    backends: tuple[Backend, ...] = ()
    problems: tuple[Problem, ...] = ()
    rules: Rules = DEFAULT_RULES
    health: HealthRules = DEFAULT_HEALTH
    views: tuple[ViewRules, ...] = ()

    def by_key(self) -> dict[ObjectKey, Backend]:
        """Return the backends by their keys."""
        return {backend.key: backend for backend in self.backends}
