"""How late the event loop comes to its work: what every request waits for, whoever keeps the loop busy."""

from __future__ import annotations

import asyncio
from bisect import bisect_left

from vmcp.telemetry.metrics import LAG_BOUNDS, Distribution

_EVERY_SECONDS = 0.5


class Lag:
    """Sleep, and count by how much each sleep was too long."""

    def __init__(self) -> None:
        self._counts = [0] * (len(LAG_BOUNDS) + 1)
        self._total = 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _EVERY_SECONDS
            await asyncio.sleep(_EVERY_SECONDS)
            late = max(0.0, loop.time() - due)
            self._counts[bisect_left(LAG_BOUNDS, late)] += 1
            self._total += late

    @property
    def value(self) -> Distribution:
        """What was measured so far."""
        return Distribution(tuple(self._counts), self._total)

    @property
    def tasks(self) -> int:
        """How many tasks the loop has now."""
        return len(asyncio.all_tasks())
