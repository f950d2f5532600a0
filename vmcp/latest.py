"""The one mutable thing that tasks share: a cell that holds the newest value."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Latest(Generic[T]):
    """Hold the current value; readers wait for the next one and may miss those in between."""

    __slots__ = ("_value", "_waiters")

    def __init__(self, value: T) -> None:
        self._value = value
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def value(self) -> T:
        """The current value; read it once per piece of work."""
        return self._value

    def set(self, value: T) -> bool:
        """Replace the value and wake all readers; an equal value is skipped and gives False."""
        if value is self._value or value == self._value:
            return False
        self.renew(value)
        return True

    def renew(self, value: T) -> None:
        """Replace the value and wake all readers, without comparing: for values that are costly to compare."""
        self._value = value
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def changes(self) -> AsyncIterator[T]:
        """Yield the current value, then the newest one each time that it has changed."""
        while True:
            seen = self._value
            yield seen
            while self._value is seen:
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.add(waiter)
                try:
                    await waiter
                finally:
                    self._waiters.discard(waiter)
