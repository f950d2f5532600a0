"""How many calls a backend gets, how they end and how long they take: counts alone, and no clock of its own."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import frexp
from types import MappingProxyType

from vmcp.protocol.methods import CARRIED
from vmcp.telemetry.metrics import CALL_BOUNDS

_WINDOW_SECONDS = 10.0
_WINDOWS = 6
# Times from 1/16 ms to 2,000 s; eight steps for each power of two, so a figure is at most 12 % too high.
_STEPS = 8
_LEAST_POWER = -14
_BUCKETS = (12 - _LEAST_POWER) * _STEPS
# The mantissa that frexp gives lies between 1/2 and 1.
_HALF = 2 * _STEPS
_FIRST = _LEAST_POWER * _STEPS + _STEPS

# How a call ends: the numbers are places in a tally.
OK, ERROR, FAILED, CANCELLED = range(4)
OUTCOMES = ("ok", "error", "failed", "cancelled")
# The method under which all are counted that the protocol does not know: clients may send any.
OTHER = "other"


@dataclass(slots=True)
class _Window:
    """The calls that ended within one stretch of time, by how long they took."""

    number: int
    failed: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * _BUCKETS)


@dataclass(slots=True)
class Tally:
    """The calls of one method since the start: by OUTCOMES, and by CALL_BOUNDS with those above at the end."""

    outcomes: list[int] = field(default_factory=lambda: [0] * len(OUTCOMES))
    buckets: list[int] = field(default_factory=lambda: [0] * (len(CALL_BOUNDS) + 1))
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What a meter shows; the rate and the times are of the last minute, the times None without calls."""

    called: int
    failed: int
    calls_per_second: float
    failures_per_second: float
    p50_seconds: float | None
    p99_seconds: float | None


class Meter:
    """Count the calls of one backend; one more costs a microsecond and no memory."""

    __slots__ = (
        "_buckets",
        "_called",
        "_ends",
        "_failed",
        "_reasons",
        "_since",
        "_tallies",
        "_windows",
    )

    def __init__(self, now: float) -> None:
        self._since = now
        self._called = 0
        self._failed = 0
        self._windows: deque[_Window] = deque(maxlen=_WINDOWS)
        self._tallies: dict[str, Tally] = {}
        self._reasons: dict[str, int] = {}
        self._open(now)

    def count(self, method: str, began: float, now: float, outcome: int) -> None:
        """Take note of a call that ends now; both times are of one clock that never goes back."""
        if now >= self._ends:
            self._called += sum(self._buckets)
            self._open(now)
        took = now - began
        part, power = frexp(took)
        step = power * _STEPS + int(part * _HALF) - _FIRST
        self._buckets[step if 0 <= step < _BUCKETS else 0 if step < 0 else -1] += 1
        tally = self._tallies.get(method) or self._tally(method)
        tally.outcomes[outcome] += 1
        tally.buckets[bisect_left(CALL_BOUNDS, took)] += 1
        tally.seconds += took
        if outcome == FAILED:
            self._failed += 1
            self._windows[-1].failed += 1

    def failed(self, reason: str) -> None:
        """Take note of why a call failed, or was not even begun."""
        self._reasons[reason] = self._reasons.get(reason, 0) + 1

    def _tally(self, method: str) -> Tally:
        return self._tallies.setdefault(method if method in CARRIED else OTHER, Tally())

    def _open(self, now: float) -> None:
        window = _Window(int(now // _WINDOW_SECONDS))
        self._windows.append(window)
        self._buckets = window.buckets
        self._ends = (window.number + 1) * _WINDOW_SECONDS

    @property
    def tallies(self) -> Mapping[str, Tally]:
        """The calls by their methods, as they are counted."""
        return MappingProxyType(self._tallies)

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many calls failed for which reason."""
        return MappingProxyType(self._reasons)

    def figures(self, now: float) -> Figures:
        """Return what there is to show."""
        first = int(now // _WINDOW_SECONDS) - _WINDOWS + 1
        recent = [window for window in self._windows if window.number >= first]
        buckets = [sum(column) for column in zip(*(w.buckets for w in recent), strict=True)]
        count = sum(buckets)
        # A gateway that has just started has had less than a minute.
        seconds = max(1.0, now - max(self._since, first * _WINDOW_SECONDS))
        return Figures(
            called=self._called + sum(self._buckets),
            failed=self._failed,
            calls_per_second=count / seconds,
            failures_per_second=sum(window.failed for window in recent) / seconds,
            p50_seconds=_at(buckets, count * 0.5),
            p99_seconds=_at(buckets, count * 0.99),
        )


def _at(buckets: list[int], rank: float) -> float | None:
    """Return the time that as many calls as `rank` did not exceed."""
    passed = 0
    for step, count in enumerate(buckets):
        passed += count
        if count and passed >= rank:
            power, part = divmod(step + 1, _STEPS)
            return float((part + _STEPS) / _HALF * 2.0 ** (power + _LEAST_POWER))
    return None
