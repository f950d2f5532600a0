"""What is rung when objects change: it carries their keys, and what they hold is read from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from vmcp.kube.resource import Key


class Bell:
    """Collect the keys of what has changed until somebody takes them, all at once."""

    def __init__(self) -> None:
        self._keys: set[Key] = set()
        self._rung = asyncio.Event()

    def ring(self, keys: Iterable[Key]) -> None:
        """Tell that these have changed."""
        self._keys.update(keys)
        if self._keys:
            self._rung.set()

    async def rung(self) -> frozenset[Key]:
        """Wait until something has changed, and take the keys of all that has."""
        await self._rung.wait()
        return self.take()

    def take(self) -> frozenset[Key]:
        """Take the keys of what has changed by now."""
        self._rung.clear()
        keys, self._keys = frozenset(self._keys), set()
        return keys
