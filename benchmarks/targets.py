"""What the gateway is to reach, and whether rows and findings reach it; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan

from benchmarks.eras import ERAS
from benchmarks.rows import Row, find

MANY = 32
BIG_CONNECTIONS = 4

# A shared machine in CI is slower and noisier than the one that the targets are for.
_RATIO_SLACK = 1.5
_TIME_SLACK = 5.0
_BESIDE = ("relay", "gateway")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One number with the target that it is to reach and the floor that it must not miss."""

    claim: str
    value: float
    target: float
    floor: float
    at_least: bool = False
    unit: str = ""

    @property
    def meets_target(self) -> bool:
        """Tell whether the target is reached."""
        return self._reaches(self.target)

    @property
    def meets_floor(self) -> bool:
        """Tell whether at least the floor is reached."""
        return self._reaches(self.floor)

    def _reaches(self, limit: float) -> bool:
        return self.value >= limit if self.at_least else self.value <= limit


def time_verdict(claim: str, value_ms: float | None, target_ms: float) -> Verdict:
    """Judge a time that is to stay below a target; one that is not there missed everything."""
    value = float("inf") if value_ms is None else value_ms
    return Verdict(claim, value, target_ms, target_ms * _TIME_SLACK, unit=" ms")


def memory_verdict(claim: str, value: float, target: float, unit: str) -> Verdict:
    """Judge an amount of memory; where none can be read, the target counts as reached."""
    found = 0.0 if isnan(value) else value
    return Verdict(claim, found, target, target * _RATIO_SLACK, unit=f" {unit}")


def count_verdict(claim: str, value: float, expected: float) -> Verdict:
    """Judge a number of things of which none may be missing."""
    return Verdict(claim, value, expected, expected, at_least=True)


def request_verdict(claim: str, requests_per_call: float) -> Verdict:
    """Judge how many requests reach the backend for one call; counts do not vary: no slack."""
    return Verdict(claim, requests_per_call, 1.0, 1.0)


def relay_verdicts(rows: Sequence[Row]) -> Iterator[Verdict]:
    """Compare the gateway with the bare relay, era by era, as far as both were measured."""
    for era in ERAS:
        yield from _throughput(rows, era)
        yield from _latency(rows, era)
        yield from _big_results(rows, era)


def _throughput(rows: Sequence[Row], era: str) -> Iterator[Verdict]:
    relay, gateway = find(rows, "relay", era, MANY), find(rows, "gateway", era, MANY)
    if relay is None or gateway is None:
        return
    if relay.calls_per_second and gateway.calls_per_second:
        share = gateway.calls_per_second / relay.calls_per_second
        yield _share(f"{era}: calls per second, share of the relay's", share, 0.6)
    if relay.cpu_ms_per_call and gateway.cpu_ms_per_call:
        times = gateway.cpu_ms_per_call / relay.cpu_ms_per_call
        yield _times(f"{era}: CPU per call, times the relay's", times, 1.6)


def _latency(rows: Sequence[Row], era: str) -> Iterator[Verdict]:
    found = [find(rows, case, era, 1) for case in ("direct", "relay", "gateway")]
    p50 = [row.p50_ms for row in found if row is not None and row.p50_ms is not None]
    if len(p50) != len(found):
        return
    direct, relay, gateway = p50
    times = (gateway - direct) / max(relay - direct, 1e-6)
    yield _times(f"{era}: median latency added at 1, times the relay's", times, 2.0)


def _big_results(rows: Sequence[Row], era: str) -> Iterator[Verdict]:
    relay, gateway = (find(rows, f"{case}-1mb", era, BIG_CONNECTIONS) for case in _BESIDE)
    if relay and gateway and relay.cpu_ms_per_call and gateway.cpu_ms_per_call:
        times = gateway.cpu_ms_per_call / relay.cpu_ms_per_call
        yield _times(f"{era}: CPU of a 1 MB result, times the relay's", times, 1.3)
    relay, gateway = (find(rows, f"{case}-5mb", era, BIG_CONNECTIONS) for case in _BESIDE)
    if relay and gateway and relay.calls_per_second and gateway.calls_per_second:
        share = gateway.calls_per_second / relay.calls_per_second
        yield _share(f"{era}: 5 MB results per second, share of the relay's", share, 0.7)


def observation_verdicts(rows: Sequence[Row]) -> Iterator[Verdict]:
    """Compare the gateway that is watched with the one that is not, as far as both were measured."""
    for era in ERAS:
        plain = find(rows, "gateway", era, MANY)
        for case, what in (
            ("gateway-scraped", "metrics are read"),
            ("gateway-traced", "5 % traced"),
        ):
            watched = find(rows, case, era, MANY)
            if plain is None or watched is None:
                continue
            if plain.calls_per_second and watched.calls_per_second:
                share = watched.calls_per_second / plain.calls_per_second
                claim = f"{era}: calls per second while {what}, share of the others"
                yield _share(claim, share, 0.9)


def _share(claim: str, value: float, target: float) -> Verdict:
    return Verdict(claim, value, target, target / _RATIO_SLACK, at_least=True)


def _times(claim: str, value: float, target: float) -> Verdict:
    return Verdict(claim, value, target, target * _RATIO_SLACK)
