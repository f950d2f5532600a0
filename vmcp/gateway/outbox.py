"""Messages that wait for a stream: bounded, so that a client which never reads costs little and nobody else."""

from __future__ import annotations

import asyncio
from collections import deque

_MOST_MESSAGES = 256
_MOST_BYTES = 2**20


class Outbox:
    """Hold messages for one stream in their order; past its bounds the stream is closed."""

    __slots__ = ("_bytes", "_messages", "_waiter", "is_closed")

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self.is_closed = False

    def put(self, message: bytes) -> bool:
        """Add a message; False where the stream is closed, or is now, because too much waits."""
        if self.is_closed:
            return False
        if len(self._messages) >= _MOST_MESSAGES or (
            self._messages and self._bytes + len(message) > _MOST_BYTES
        ):
            self.close()
            return False
        self._messages.append(message)
        self._bytes += len(message)
        self._wake()
        return True

    def close(self) -> None:
        """Let the reader come to its end after what waits."""
        self.is_closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def get(self) -> bytes | None:
        """Return the next message, None at the end."""
        while not self._messages:
            if self.is_closed:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        message = self._messages.popleft()
        self._bytes -= len(message)
        return message
