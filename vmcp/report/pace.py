"""How often a status is looked at and written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """The times of a report.

    Changes within `settle_seconds` are looked at together. After a write comes none for `gap_seconds`, or for as
    long as its size takes at `bytes_per_second`. What is not worth a write by itself goes with the next one, after
    `heartbeat_seconds` at the latest. `poll_seconds` is how soon a change of the object itself is seen,
    `longest_seconds` the longest pause after failures.
    """

    settle_seconds: float
    gap_seconds: float
    bytes_per_second: float
    heartbeat_seconds: float
    poll_seconds: float
    first_seconds: float
    longest_seconds: float

    def gap(self, size: int) -> float:
        """Return how long to leave the server alone after a write: large ones are rare, for the sake of etcd."""
        return max(self.gap_seconds, size / self.bytes_per_second)


PACE = Pace(
    settle_seconds=0.5,
    gap_seconds=2.0,
    bytes_per_second=20_000.0,
    heartbeat_seconds=300.0,
    poll_seconds=5.0,
    first_seconds=1.0,
    longest_seconds=60.0,
)
