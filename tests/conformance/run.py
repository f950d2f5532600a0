"""Runs the official conformance suite directly and through the gateway, and compares the two.

`python -m tests.conformance.run` runs it against the fixture alone, `--gateway` also through a
gateway in front of it. Each revision meets a fixture that speaks only the revision's own era.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from tests.conformance.clients import measure_clients, report_clients
from tests.conformance.gateway import GATEWAY
from tests.conformance.outcome import (
    BaselineError,
    Excuse,
    Outcome,
    Report,
    baseline,
    outcome,
    regressions,
    shortfalls,
    worse,
)
from tests.support.node import NodeUnavailableError, command
from tests.support.servers import ServerFailedError, fixture_server, run_gateway

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SUITE_SECONDS = 300
SHOWN_LINES = 40
UNSCORED = "tasks-"
"""The scenarios of an extension that the fixture does not have: they may fail directly."""


class SuiteFailedError(RuntimeError):
    """The suite ran no scenario; the message holds what it wrote."""


UNMEASURED = (SuiteFailedError, ServerFailedError, NodeUnavailableError, BaselineError)
"""What keeps a run from having a result; the message says all."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision of the protocol, its era, and how many checks pass in the published results."""

    name: str
    era: str
    passed: int


REVISIONS = (Revision("2025-11-25", "sessioned", 84), Revision("2026-07-28", "stateless", 169))


@dataclass(frozen=True, slots=True)
class Run:
    """What the suite said about one revision, directly and, if asked for, through the gateway.

    `backend` is the era of the fixture behind the gateway.
    """

    revision: Revision
    direct: Report
    through: Report | None
    backend: str

    @property
    def name(self) -> str:
        """The revision, and the era of the backend where it is the other one."""
        return pair_name(self.revision, self.backend)

    def problems(self, excuses: Sequence[Excuse]) -> tuple[str, ...]:
        """Return a sentence for everything that is not as it should be."""
        missed = shortfalls(
            self.revision.name, self.direct, passed=self.revision.passed, unscored=UNSCORED
        )
        if self.through is None:
            return missed
        found = regressions(self.name, self.direct, self.through, excuses)
        return found if self.backend != self.revision.era else (*missed, *found)


def pair_name(revision: Revision, backend: str) -> str:
    """Return what a pair of a revision in front and an era behind is called in the baseline."""
    return revision.name if backend == revision.era else f"{revision.name} to {backend}"


def pairs() -> tuple[tuple[Revision, str], ...]:
    """Return the four pairs, those of one era first."""
    eras = tuple(revision.era for revision in REVISIONS)
    same = tuple((revision, revision.era) for revision in REVISIONS)
    crossed = tuple((each, era) for each in REVISIONS for era in eras if era != each.era)
    return (*same, *crossed)


def direct(revision: Revision) -> Report:
    """Run the suite against the fixture alone."""
    with fixture_server(revision.era) as url:
        return run_suite(url, revision, RESULTS / f"{revision.name}-direct")


def through_gateway(revision: Revision, era: str) -> Report:
    """Run the suite against a gateway whose only backend is the fixture in an era."""
    with fixture_server(era) as backend, run_gateway(GATEWAY.format(url=backend)) as front:
        return run_suite(front.url, revision, RESULTS / f"{revision.name}-gateway-{era}")


def run_suite(url: str, revision: Revision, folder: Path) -> Report:
    """Run what a revision requires against a URL; keep the suite's own files in the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = ["--url", url, "--requirements", revision.name, "-o", str(folder)]
    done = subprocess.run(
        [*command("conformance"), "server", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SUITE_SECONDS,
        check=False,
    )
    (folder / "output.txt").write_text(done.stdout + done.stderr)
    found = read_report(folder)
    if not found:
        written = "\n".join((done.stdout + done.stderr).splitlines()[-SHOWN_LINES:])
        raise SuiteFailedError(f"the suite ran no scenario of {revision.name}:\n{written}")
    return found


def read_report(folder: Path) -> Report:
    """Read the outcomes that the suite left in a folder, one subfolder a scenario."""
    named = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT.*")
    found = ((named.fullmatch(path.parent.name), path) for path in folder.glob("*/checks.json"))
    return {
        match["scenario"]: outcome(json.loads(path.read_text()))
        for match, path in sorted(found, key=lambda pair: pair[1].parent.name)
        if match
    }


def read_baseline() -> tuple[Excuse, ...]:
    """Read the checks that may be worse through the gateway."""
    lines = yaml.safe_load((HERE / "baseline.yaml").read_text())
    return baseline(lines, revisions={pair_name(*pair) for pair in pairs()})


def measure(*, with_gateway: bool) -> tuple[Run, ...]:
    """Run the suite for each revision."""
    alone = {revision: direct(revision) for revision in REVISIONS}
    if not with_gateway:
        return tuple(Run(each, alone[each], None, each.era) for each in REVISIONS)
    return tuple(
        Run(revision, alone[revision], through_gateway(revision, era), era)
        for revision, era in pairs()
    )


def table(run: Run) -> Table:
    """Return the counts per scenario, and their sums, for a person."""
    shown = Table("scenario", "direct", "failed", title=_title(run))
    if run.through is not None:
        for heading in ("gateway", "failed", "worse"):
            shown.add_column(heading)
    for scenario in run.direct:
        shown.add_row(scenario, *_cells(run, (scenario,)))
    shown.add_section()
    shown.add_row("total", *_cells(run, tuple(run.direct)))
    return shown


def _title(run: Run) -> str:
    return f"{run.revision.name}: {run.revision.era} client, {run.backend} backend"


def summary(runs: Sequence[Run], excuses: Sequence[Excuse]) -> Table:
    """Return the counts of each pair, with the reason of each check that does not apply to it."""
    shown = Table("client", "backend", "passed", "failed", "does not apply", title="All pairs")
    for run in runs:
        if run.through is None:
            continue
        apart = [excuse for excuse in excuses if excuse.revision == run.name]
        why = "\n".join(f"{each.scenario}: {each.reason}" for each in apart)
        shown.add_row(run.revision.era, run.backend, *_sums(run.through, tuple(run.direct)), why)
    return shown


def as_json(runs: Sequence[Run]) -> list[Mapping[str, object]]:
    """Return the counts per scenario for a program."""
    return [
        {
            "revision": run.revision.name,
            "backend": run.backend,
            "scenario": scenario,
            "direct": _counts(run.direct[scenario]),
            "gateway": None if run.through is None else _counts(_of(run.through, scenario)),
            "worse": [] if run.through is None else list(_worse(run, scenario)),
        }
        for run in runs
        for scenario in run.direct
    ]


def main() -> int:
    """Run the suite, print the counts, and fail when something is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.run", description=__doc__)
    parser.add_argument("--gateway", action="store_true", help="also run through the gateway")
    # A plain exception ends the servers on the way out; the default would leave them behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with_gateway = parser.parse_args().gateway
    try:
        excuses = read_baseline()
        code = report(measure(with_gateway=with_gateway), excuses)
        return max(code, report_clients(measure_clients())) if with_gateway else code
    except (*UNMEASURED, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def report(runs: Sequence[Run], excuses: Sequence[Excuse]) -> int:
    """Keep and print the counts and the problems; return the exit code."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "results.json").write_text(json.dumps(as_json(runs), indent=1) + "\n")
    console = Console()
    for run in runs:
        console.print(table(run))
    console.print(summary(runs, excuses))
    problems = [problem for run in runs for problem in run.problems(excuses)]
    for problem in problems:
        console.print(problem, soft_wrap=True, markup=False, highlight=False)
    return 1 if problems else 0


def _cells(run: Run, scenarios: Sequence[str]) -> tuple[str, ...]:
    counts = _sums(run.direct, scenarios)
    if run.through is None:
        return counts
    lost = [check for scenario in scenarios for check in _worse(run, scenario)]
    return (*counts, *_sums(run.through, scenarios), str(len(lost)) if lost else "")


def _sums(report: Report, scenarios: Sequence[str]) -> tuple[str, str]:
    outcomes = [_of(report, scenario) for scenario in scenarios]
    return str(sum(o.passed for o in outcomes)), str(sum(o.failed for o in outcomes))


def _worse(run: Run, scenario: str) -> tuple[str, ...]:
    return worse(_of(run.direct, scenario), _of(run.through or {}, scenario))


def _of(report: Report, scenario: str) -> Outcome:
    return report.get(scenario, Outcome())


def _counts(each: Outcome) -> Mapping[str, int]:
    return {"passed": each.passed, "failed": each.failed}


if __name__ == "__main__":
    sys.exit(main())
