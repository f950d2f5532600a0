"""Make one snapshot of what the sources contribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vmcp.latest import Latest
from vmcp.model.backend import Backend
from vmcp.model.health import DEFAULT_HEALTH
from vmcp.model.problem import Problem
from vmcp.model.rules import DEFAULT_RULES
from vmcp.model.snapshot import Contribution, Snapshot


def merge(contributions: Mapping[str, Contribution]) -> Snapshot:
    """Return the snapshot of contributions by source; of two backends with one public name the first stays.

    Where one source says that nobody may be served, the others have no backends either: streams that are open
    would still tell of them.
    """
    sources = [contributions[name] for name in sorted(contributions)]
    closed = next((one.closed for one in sources if one.closed is not None), None)
    backends, taken = _named(sources if closed is None else ())
    kept = {each.key for each in backends}
    found = {*taken, *(problem for one in sources for problem in one.problems)}
    rules = next((one.rules for one in sources if one.rules is not None), DEFAULT_RULES)
    own = {name: tools for one in reversed(sources) for name, tools in one.own_tools.items()}
    decisions = {key: how for one in sources for key, how in one.decisions.items() if key in kept}
    return Snapshot(
        backends,
        tuple(sorted(found)),
        rules.with_own(own),
        next((one.health for one in sources if one.health is not None), DEFAULT_HEALTH),
        next((one.views for one in sources if one.views is not None), ()),
        decisions=decisions,
        closed=closed,
        is_known=all(one.is_known for one in sources),
    )


def _named(sources: Sequence[Contribution]) -> tuple[tuple[Backend, ...], list[Problem]]:
    """Return the backends by their public names, and the problems of those whose names were taken."""
    backends: dict[str, Backend] = {}
    taken: list[Problem] = []
    for backend in (each for one in sources for each in one.backends):
        holder = backends.setdefault(backend.name, backend)
        if holder is not backend:
            message = f"The name '{backend.name}' is taken by {holder.key}."
            taken.append(Problem(backend.key, "NameTaken", message))
    return tuple(backends[name] for name in sorted(backends)), taken


class Registry:
    """Hold the newest contribution of each source, and the snapshot of them all."""

    def __init__(self) -> None:
        self._contributions: dict[str, Contribution] = {}
        self.snapshot = Latest(Snapshot(is_known=False))

    async def follow(self, contributions: Latest[Contribution]) -> None:
        """Take what a source contributes, now and whenever it changes, until cancelled."""
        async for contribution in contributions.changes():
            self.take(contribution)

    def take(self, contribution: Contribution) -> None:
        """Replace what a source contributed before."""
        self._contributions[contribution.source] = contribution
        self.snapshot.set(merge(self._contributions))
