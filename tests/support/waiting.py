"""Wait in tests for what will happen, never for a time; whoever waits too long fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

# Patience with a slow machine, and less than the 10 s after which a gateway gives up what hangs.
SECONDS = 9.0
_LOOK_SECONDS = 0.002

T = TypeVar("T")


class Journal(Generic[T]):
    """What has happened, in order; others can wait for what will."""

    def __init__(self) -> None:
        self.all: list[T] = []
        self._more = asyncio.Event()

    def __len__(self) -> int:
        return len(self.all)

    def add(self, one: T) -> None:
        """Write down what happened."""
        self.all.append(one)
        self._more.set()

    def having(self, fits: Callable[[T], bool]) -> list[T]:
        """Return what has happened so far and fits."""
        return [one for one in self.all if fits(one)]

    async def nth(self, number: int, fits: Callable[[T], bool]) -> T:
        """Wait until so many that fit have happened, and return the last of them."""
        async with asyncio.timeout(SECONDS):
            while len(found := self.having(fits)) < number:
                self._more.clear()
                await self._more.wait()
        return found[number - 1]

    async def first(self, fits: Callable[[T], bool]) -> T:
        """Wait for the first that fits."""
        return await self.nth(1, fits)


async def moment() -> None:
    """Let others go on for a moment."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LOOK_SECONDS):
            await asyncio.get_running_loop().create_future()


async def until(holds: Callable[[], object], seconds: float = SECONDS) -> None:
    """Return once something holds that tells nobody of itself."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not holds():
        if loop.time() > end:
            raise AssertionError(f"it did not come to hold within {seconds} s")
        await moment()
