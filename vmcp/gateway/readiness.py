"""Whether the gateway may be sent traffic: after the first round of lists of what the sources know first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from vmcp.catalog.lookup import Catalog
from vmcp.latest import Latest
from vmcp.model.health import BackendHealth, State
from vmcp.model.keys import ObjectKey
from vmcp.model.snapshot import Snapshot

log = logging.getLogger(__name__)

# A backend that is down at the start must not keep the others from being served.
_LONGEST_WAIT = 10.0


class Readiness:
    """Ready once each backend was listed or has failed, at the latest after the longest wait."""

    def __init__(
        self, snapshot: Latest[Snapshot], health: Latest[Mapping[ObjectKey, BackendHealth]]
    ) -> None:
        self._snapshot = snapshot
        self._health = health
        self._reached = asyncio.Event()
        self._is_stopped = False

    @property
    def is_ready(self) -> bool:
        """Whether traffic may be sent."""
        is_closed = self._snapshot.value.closed is not None
        return self._reached.is_set() and not self._is_stopped and not is_closed

    async def reached(self) -> None:
        """Wait until the first round is over."""
        await self._reached.wait()

    async def run(self, catalog: Latest[Catalog]) -> None:
        """Become ready when the catalog shows the first round of what the sources knew first."""
        async for snapshot in self._snapshot.changes():
            if snapshot.is_known:
                break
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                await self._first_round()
                await self._shown(catalog)
        except TimeoutError:
            log.warning("some backends have not answered yet; the others are served")
        self._reached.set()

    async def _first_round(self) -> None:
        async for health in self._health.changes():
            seen = {key for key, each in health.items() if each.last_check is not None}
            if seen >= self._snapshot.value.by_key().keys():
                return

    async def _shown(self, catalog: Latest[Catalog]) -> None:
        health = self._health.value
        listed = {key for key, each in health.items() if each.state is State.HEALTHY}
        async for now in catalog.changes():
            if listed <= now.peers.keys():
                return

    def stop(self) -> None:
        """Be ready no more: the process is about to end."""
        self._is_stopped = True
