"""What a benchmark finds, as rows over rounds, and `results.json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Row:
    """One case under one load; None where a number has no meaning or cannot be measured."""

    case: str
    era: str
    connections: int
    calls_per_second: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    cpu_ms_per_call: float | None = None


Found = Mapping[str, float | None]


def row(case: str, era: str, connections: int, rounds: Sequence[Found]) -> Row:
    """Return the median times of the rounds, and the best of their rates and of what calls cost.

    What else a machine does only takes from a rate, and only adds to a cost.
    """
    return Row(
        case,
        era,
        connections,
        _over(rounds, "calls_per_second", max),
        _over(rounds, "p50_ms", median),
        _over(rounds, "p99_ms", median),
        _over(rounds, "cpu_ms_per_call", min),
    )


def _over(
    rounds: Sequence[Found], name: str, choose: Callable[[list[float]], float]
) -> float | None:
    values = [value for value in (found.get(name) for found in rounds) if value is not None]
    return round(choose(values), 4) if values else None


def find(rows: Iterable[Row], case: str, era: str, connections: int) -> Row | None:
    """Return the row of a case under a load, if it was measured."""
    wanted = (case, era, connections)
    return next((r for r in rows if (r.case, r.era, r.connections) == wanted), None)


def write(rows: Iterable[Row], path: Path) -> None:
    """Write the rows as a JSON list, one row a line."""
    lines = ",\n".join(json.dumps(asdict(row)) for row in rows)
    path.write_text(f"[\n{lines}\n]\n")
