"""How rows and verdicts look on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from benchmarks.rows import Row
from benchmarks.targets import Verdict


def row_table(rows: Sequence[Row]) -> Table:
    """Return a table of all rows, in their order."""
    table = Table(title="Medians over the rounds")
    table.add_column("case")
    table.add_column("era")
    for name in ("connections", "calls/s", "p50 ms", "p99 ms", "CPU ms/call"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.case,
            row.era,
            str(row.connections),
            _number(row.calls_per_second, 0),
            _number(row.p50_ms, 3),
            _number(row.p99_ms, 3),
            _number(row.cpu_ms_per_call, 3),
        )
    return table


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Return a table that sets each value beside its target and its floor."""
    table = Table(title="Targets")
    table.add_column("claim")
    for name in ("value", "target", "floor"):
        table.add_column(name, justify="right")
    table.add_column("")
    for verdict in verdicts:
        sign = "≥" if verdict.at_least else "≤"
        table.add_row(
            verdict.claim,
            f"{verdict.value:.5g}{verdict.unit}",
            f"{sign} {verdict.target:.5g}",
            f"{sign} {verdict.floor:.5g}",
            _mark(verdict),
        )
    return table


def _mark(verdict: Verdict) -> str:
    if verdict.meets_target:
        return "[green]met[/green]"
    if verdict.meets_floor:
        return "[yellow]missed[/yellow]"
    return "[red]below the floor[/red]"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
