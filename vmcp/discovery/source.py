"""What every source of backends is to the gateway: a cell with its whole present state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from vmcp.latest import Latest
from vmcp.model.snapshot import Contribution


class Source(Protocol):
    """Knows backends, and keeps what it knows up to date."""

    @property
    def contribution(self) -> Latest[Contribution]:
        """The cell that holds what the source knows now; it holds a value from the start."""
        ...

    def told(self) -> Mapping[str, object]:
        """Return what operators are told of the source, as JSON; `source` is its name."""
        ...

    async def run(self) -> None:
        """Keep the contribution up to date until cancelled; return if nothing can change any more.

        Trouble with single objects becomes Problems of the contribution. What is raised means that
        the source as a whole cannot go on.
        """
        ...
