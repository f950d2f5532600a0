"""Rows hold what the rounds found, and results.json holds the rows."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.rows import Row, find, row, write


def test_a_row_holds_the_median_of_the_times_of_its_rounds() -> None:
    rounds = [{"p50_ms": 1.0}, {"p50_ms": 9.0}, {"p50_ms": 2.0, "p99_ms": 3.0}]

    made = row("relay", "stateless", 1, rounds)

    assert (made.p50_ms, made.p99_ms, made.calls_per_second) == (2.0, 3.0, None)


def test_what_disturbs_most_rounds_changes_no_rate_and_no_cost() -> None:
    quiet = {"calls_per_second": 900.0, "cpu_ms_per_call": 0.2}
    disturbed = {"calls_per_second": 400.0, "cpu_ms_per_call": 0.5}

    made = row("relay", "stateless", 1, [disturbed, quiet, disturbed])

    assert (made.calls_per_second, made.cpu_ms_per_call) == (900.0, 0.2)


def test_the_results_are_a_list_of_rows_with_seven_members(tmp_path: Path) -> None:
    path = tmp_path / "results.json"

    write([Row("direct", "sessioned", 1, 10.0, 1.0, 2.0, 0.1), Row("x", "stateless", 4)], path)

    written = json.loads(path.read_text())
    assert written[0] == {
        "case": "direct",
        "era": "sessioned",
        "connections": 1,
        "calls_per_second": 10.0,
        "p50_ms": 1.0,
        "p99_ms": 2.0,
        "cpu_ms_per_call": 0.1,
    }
    assert written[1]["p50_ms"] is None


def test_a_row_is_found_by_case_era_and_connections() -> None:
    rows = [Row("a", "stateless", 1), Row("a", "stateless", 32)]

    assert find(rows, "a", "stateless", 32) is rows[1]
    assert find(rows, "a", "sessioned", 32) is None
