"""`make bench`: measure everything in one run, print a table, write benchmarks/results.json."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable

from rich.console import Console

from benchmarks.cases import ALL_CASES, LoadFailed
from benchmarks.changes import live_changes
from benchmarks.client import WrongAnswer
from benchmarks.discovery import large_namespace
from benchmarks.grid import Settings, compare
from benchmarks.processes import ROOT, ProcessFailed
from benchmarks.report import row_table, verdict_table
from benchmarks.rows import Row, write
from benchmarks.scale import hanging_backend, large_catalog
from benchmarks.sessions import many_sessions
from benchmarks.startup import start_up
from benchmarks.targets import Verdict, observation_verdicts, relay_verdicts

RESULTS = ROOT / "benchmarks" / "results.json"
_SCENARIOS = (
    large_catalog,
    hanging_backend,
    many_sessions,
    start_up,
    live_changes,
    large_namespace,
)
_FULL = {"rounds": 5, "seconds": 2.0, "warm_seconds": 0.5, "share": 1.0}
_WIDTH_OF_A_LOG = 110
_QUICK = {"rounds": 3, "seconds": 0.6, "warm_seconds": 0.2, "share": 0.2}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="short rounds, for CI and a first look"
    )
    parser.add_argument("--check", action="store_true", help="fail when a floor is missed")
    parser.add_argument("--cases", nargs="+", choices=ALL_CASES, default=list(ALL_CASES))
    arguments = parser.parse_args()
    if arguments.check and not {"direct", "relay", "gateway"} <= set(arguments.cases):
        parser.error("--check compares direct, relay and gateway: leave --cases out.")
    return arguments


async def measure(
    settings: Settings, say: Callable[[str], None]
) -> tuple[list[Row], list[Verdict]]:
    """Measure the cases side by side, then the gateway in front of many backends."""
    _stop_on_sigterm()
    rows, counts = await compare(settings, say)
    verdicts = [*relay_verdicts(rows), *observation_verdicts(rows), *counts]
    if "gateway" in settings.cases:
        for scenario in _SCENARIOS:
            found, judged = await scenario(settings, say)
            rows += found
            verdicts += judged
    return rows, verdicts


def _stop_on_sigterm() -> None:
    """Unwind on SIGTERM too, so that no process that was started here is left behind."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def main() -> int:
    """Measure, report, and return the exit status."""
    arguments = _arguments()
    console = Console(width=None if sys.stdout.isatty() else _WIDTH_OF_A_LOG)
    length = _QUICK if arguments.quick else _FULL
    settings = Settings(
        rounds=int(length["rounds"]),
        seconds=length["seconds"],
        warm_seconds=length["warm_seconds"],
        cases=arguments.cases,
        share=length["share"],
    )
    rows: list[Row] = []
    verdicts: list[Verdict] = []
    try:
        rows, verdicts = asyncio.run(measure(settings, console.print))
    except* (ProcessFailed, LoadFailed, WrongAnswer, OSError) as failures:
        for failure in failures.exceptions:
            console.print("The benchmark failed:", failure, style="red", markup=False)
    if not rows:
        return 1
    write(rows, RESULTS)
    console.print(row_table(rows), verdict_table(verdicts))
    console.print(f"Written to {RESULTS.relative_to(ROOT)}.")
    missed = [verdict.claim for verdict in verdicts if not verdict.meets_floor]
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
