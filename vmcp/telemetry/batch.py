"""Send things away in batches from a thread: whoever hands them over never waits, too many are dropped."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_WAITING = 4096
_MOST_AT_ONCE = 512
_EVERY_SECONDS = 2.0


class Batches(Generic[T]):
    """Hand over to `send`, which tells whether it could and may block; what cannot be sent is not tried again.

    `sent` and `lost` count what became of them.
    """

    def __init__(self, name: str, send: Callable[[Sequence[T]], bool]) -> None:
        self.sent = 0
        self.lost = 0
        self._send = send
        self._waiting: deque[T] = deque()
        self._is_closed = False
        self._changed = threading.Condition()
        # A daemon: a collector that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def add(self, one: T) -> None:
        """Hand one over; where too many wait it is lost."""
        if len(self._waiting) >= MOST_WAITING or self._is_closed:
            self.lost += 1
            return
        self._waiting.append(one)
        if len(self._waiting) == _MOST_AT_ONCE:
            with self._changed:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._is_closed and len(self._waiting) < _MOST_AT_ONCE:
                    self._changed.wait(_EVERY_SECONDS)
                is_last = self._is_closed
            while self._waiting:
                self._send_some()
            if is_last:
                return

    def _send_some(self) -> None:
        count = min(len(self._waiting), _MOST_AT_ONCE)
        batch = [self._waiting.popleft() for _ in range(count)]
        if self._send(batch):
            self.sent += count
        else:
            self.lost += count

    def end(self) -> None:
        """Take no more, and send what waits."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def close(self, seconds: float) -> None:
        """Take no more, and send what waits within a bounded time."""
        self.end()
        self._thread.join(max(0.0, seconds))
