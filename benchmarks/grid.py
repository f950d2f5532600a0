"""The side by side comparison: every case under every load, in turn, round after round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.cases import SCRAPED, TRACED, Subject, load, subjects
from benchmarks.eras import ERAS
from benchmarks.rows import Found, Row, row
from benchmarks.targets import BIG_CONNECTIONS, MANY, Verdict, request_verdict

_BIG = {"1mb": 1_000_000, "5mb": 5_000_000}
# What these cost shows under load; a single client would tell nothing more.
_UNDER_LOAD = frozenset((SCRAPED, TRACED))


@dataclass(frozen=True, slots=True)
class Settings:
    """How long to measure, and which cases."""

    rounds: int
    seconds: float
    warm_seconds: float
    cases: Sequence[str]
    # Of the numbers of sessions and parked calls, which take the time that they take.
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Cell:
    """One case under one load; `era` is that of the clients."""

    case: str
    subject: Subject
    era: str
    connections: int
    size: int = 0


async def compare(
    settings: Settings, say: Callable[[str], None]
) -> tuple[list[Row], list[Verdict]]:
    """Measure the cases in interleaved rounds, so that what the machine does hits all alike."""
    say("starting " + ", ".join(settings.cases))
    async with subjects(settings.cases) as running:
        cells = list(_cells(running))
        rounds: list[list[Found]] = [[] for _ in cells]
        for number in range(1, settings.rounds + 1):
            say(f"round {number} of {settings.rounds}: {len(cells)} loads")
            for cell, found in zip(cells, rounds, strict=True):
                found.append(await _load(cell, settings))
    rows = [
        row(cell.case, cell.era, cell.connections, found)
        for cell, found in zip(cells, rounds, strict=True)
    ]
    return rows, list(_request_verdicts(cells, rounds))


def _cells(running: Sequence[Subject]) -> Iterator[Cell]:
    for connections in (1, MANY):
        for era in ERAS:
            for subject in running:
                if subject.era == era and (connections == MANY or subject.case not in _UNDER_LOAD):
                    yield Cell(subject.case, subject, era, connections)
    for word, size in _BIG.items():
        for subject in running:
            if subject.case in {"relay", "gateway"}:
                yield Cell(f"{subject.case}-{word}", subject, subject.era, BIG_CONNECTIONS, size)
    for subject in running:
        if subject.case == "gateway":
            other = next(era for era in ERAS if era != subject.era)
            yield Cell("gateway-bridged", subject, other, MANY)


async def _load(cell: Cell, settings: Settings) -> Found:
    return await load(
        cell.subject.url,
        seconds=settings.seconds,
        warm_seconds=settings.warm_seconds,
        era=cell.era,
        connections=cell.connections,
        size=cell.size,
        tool=cell.subject.tool,
        pid=cell.subject.pid,
        stats=cell.subject.stats,
    )


def _request_verdicts(cells: Sequence[Cell], rounds: Sequence[list[Found]]) -> Iterator[Verdict]:
    for cell, found in zip(cells, rounds, strict=True):
        counts = [each["requests_per_call"] for each in found]
        worst = max(count for count in counts if count is not None)
        if cell.subject.case == "gateway" and cell.connections == MANY:
            pair = f"{cell.era} clients, {cell.subject.era}-only backend"
            yield request_verdict(f"{pair}: requests at the backend per call", worst)
