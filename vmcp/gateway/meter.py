"""How many calls a backend gets, how many fail and how long they take: counts alone, and no clock of its own."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import frexp

_WINDOW_SECONDS = 10.0
_WINDOWS = 6
# Times from 1/16 ms to 2,000 s; eight steps for each power of two, so a figure is at most 12 % too high.
_STEPS = 8
_LEAST_POWER = -14
_BUCKETS = (12 - _LEAST_POWER) * _STEPS
# The mantissa that frexp gives lies between 1/2 and 1.
_HALF = 2 * _STEPS
_FIRST = _LEAST_POWER * _STEPS + _STEPS


@dataclass(slots=True)
class _Window:
    """The calls that ended within one stretch of time, by how long they took."""

    number: int
    failed: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * _BUCKETS)


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
    """Count the calls of one backend; one more costs half a microsecond and no memory."""

    __slots__ = ("_buckets", "_called", "_ends", "_failed", "_since", "_windows")

    def __init__(self, now: float) -> None:
        self._since = now
        self._called = 0
        self._failed = 0
        self._windows: deque[_Window] = deque(maxlen=_WINDOWS)
        self._open(now)

    def count(self, began: float, now: float, *, is_failure: bool) -> None:
        """Take note of a call that ends now; both times are of one clock that never goes back."""
        if now >= self._ends:
            self._called += sum(self._buckets)
            self._open(now)
        part, power = frexp(now - began)
        step = power * _STEPS + int(part * _HALF) - _FIRST
        self._buckets[step if 0 <= step < _BUCKETS else 0 if step < 0 else -1] += 1
        if is_failure:
            self._failed += 1
            self._windows[-1].failed += 1

    def _open(self, now: float) -> None:
        window = _Window(int(now // _WINDOW_SECONDS))
        self._windows.append(window)
        self._buckets = window.buckets
        self._ends = (window.number + 1) * _WINDOW_SECONDS

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
