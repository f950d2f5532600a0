"""How often the API server is asked, and how long silence may last."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """The times of all watches; a server gives a bookmark about once a minute, so silence is a dead connection."""

    first_seconds: float
    longest_seconds: float
    forbidden_seconds: float
    not_installed_seconds: float
    silent_seconds: float
    watch_seconds: float
    poll_seconds: float
    page: int


PACE = Pace(
    first_seconds=0.2,
    longest_seconds=10.0,
    # A Role follows what is referred to within moments.
    forbidden_seconds=2.0,
    not_installed_seconds=8.0,
    silent_seconds=90.0,
    watch_seconds=300.0,
    poll_seconds=10.0,
    page=500,
)


class Backoff:
    """Pauses that grow twofold to a limit until something goes well; each is jittered."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._failures = 0

    def next(self) -> float:
        """Return the next pause in seconds."""
        grown = self._pace.first_seconds * 2 ** min(self._failures, 16)
        self._failures += 1
        return jittered(min(grown, self._pace.longest_seconds))

    def reset(self) -> None:
        """Begin anew."""
        self._failures = 0


def jittered(seconds: float) -> float:
    """Return a time in the upper half, so that many who wait do not come at once."""
    return seconds * random.uniform(0.5, 1.0)
