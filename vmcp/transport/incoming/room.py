"""How many requests are under way and how much memory their bodies take; past that others are to come back."""

from __future__ import annotations

from dataclasses import dataclass

from vmcp.transport.incoming.limits import BODY_LIMIT, Refused

# Smaller bodies are bounded by the number of requests.
SMALL_BODY = 64 * 2**10
_MOST_BODY_BYTES = 256 * 2**20
_RETRY_AFTER = (b"retry-after", b"1")


class Room:
    """What all requests under way take together."""

    def __init__(self) -> None:
        self.requests = 0
        self.body_bytes = 0

    def enter(self, most: int, announced: str) -> Place:
        """Return the place of a request by the length that it announces; raise Refused where there is none."""
        size = _size(announced)
        if self.requests >= most:
            raise Refused(503, f"{most} requests are under way: come back soon.", _RETRY_AFTER)
        if size and self.body_bytes + size > _MOST_BODY_BYTES:
            raise Refused(
                503, "Too many large requests are under way: come back soon.", _RETRY_AFTER
            )
        self.requests += 1
        self.body_bytes += size
        return Place(self, size)


@dataclass(slots=True, eq=False)
class Place:
    """What one request takes until it is left, which may be before the answer ends."""

    room: Room
    size: int
    is_taken: bool = True

    def hold(self, size: int) -> None:
        """Take what the body has turned out to be."""
        size = size if size > SMALL_BODY else 0
        self.room.body_bytes += size - self.size
        self.size = size

    @property
    def is_large(self) -> bool:
        """Whether its body takes more than the number of requests bounds."""
        return self.size > 0

    def leave(self) -> None:
        """Give the place to others; more than once is once."""
        if self.is_taken:
            self.is_taken = False
            self.room.requests -= 1
            self.room.body_bytes -= self.size


def _size(announced: str) -> int:
    """Return how much memory a body is reckoned to take; one of unknown length takes as much as it may."""
    if not announced.isdecimal():
        return BODY_LIMIT
    size = int(announced)
    return size if SMALL_BODY < size <= BODY_LIMIT else 0
