"""Make one snapshot of what the sources contribute."""

from __future__ import annotations

from collections.abc import Mapping

from vmcp.latest import Latest
from vmcp.model.backend import Backend
from vmcp.model.health import DEFAULT_HEALTH, HealthRules
from vmcp.model.problem import Problem
from vmcp.model.rules import DEFAULT_RULES, Rules
from vmcp.model.snapshot import Contribution, Snapshot
from vmcp.model.view import ViewRules


def merge(contributions: Mapping[str, Contribution]) -> Snapshot:
    """Return the snapshot of contributions by source; of two backends with one public name the first stays."""
    backends: dict[str, Backend] = {}
    problems: list[Problem] = []
    rules: Rules | None = None
    health: HealthRules | None = None
    views: tuple[ViewRules, ...] | None = None
    for source in sorted(contributions):
        contribution = contributions[source]
        problems.extend(contribution.problems)
        rules = rules or contribution.rules
        health = health or contribution.health
        views = contribution.views if views is None else views
        for backend in contribution.backends:
            holder = backends.setdefault(backend.name, backend)
            if holder is not backend:
                message = f"The name '{backend.name}' is taken by {holder.key}."
                problems.append(Problem(backend.key, "NameTaken", message))
    ordered = tuple(backends[name] for name in sorted(backends))
    found = tuple(sorted(problems))
    return Snapshot(
        ordered, found, rules or DEFAULT_RULES, health or DEFAULT_HEALTH, views=views or ()
    )


class Registry:
    """Hold the newest contribution of each source, and the snapshot of them all."""

    def __init__(self) -> None:
        self._contributions: dict[str, Contribution] = {}
        self.snapshot = Latest(Snapshot())

    async def follow(self, contributions: Latest[Contribution]) -> None:
        """Take what a source contributes, now and whenever it changes, until cancelled."""
        async for contribution in contributions.changes():
            self.take(contribution)

    def take(self, contribution: Contribution) -> None:
        """Replace what a source contributed before."""
        self._contributions[contribution.source] = contribution
        self.snapshot.set(merge(self._contributions))
