"""The suite's client scenarios, with the gateway as the client: the SDK's client of either era drives it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.conformance.outcome import Outcome, outcome
from tests.support.node import command

FOLDER = Path(__file__).resolve().parent / "results" / "clients"
SUITE_SECONDS = 90
AT_ONCE = 2
SHOWN_LINES = 30
ERAS = ("sessioned", "stateless")
# All but those of OAuth, by the revision in which the suite's server speaks.
SCENARIOS: Mapping[str, tuple[str, ...]] = {
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ),
}
EVERY = tuple((version, name) for version, names in SCENARIOS.items() for name in names)


@dataclass(frozen=True, slots=True)
class Driven:
    """What the suite said about a scenario of a revision, driven by a client of an era."""

    version: str
    scenario: str
    era: str
    outcome: Outcome
    written: str

    @property
    def problem(self) -> str | None:
        """A sentence where it did not pass."""
        if self.outcome.passed and not self.outcome.failed:
            return None
        failed = ", ".join(sorted(self.outcome.failures)) or "no check passed"
        place = f"{self.version} {self.scenario} ({self.era} client)"
        return f"{place}: {failed}; the suite wrote:\n{self.written}"


def drive(version: str, scenario: str, era: str) -> Driven:
    """Let the suite try the gateway as a client."""
    folder = FOLDER / f"{version}-{scenario}-{era}"
    shutil.rmtree(folder, ignore_errors=True)
    client = f"{sys.executable} -m tests.conformance.through {era}"
    done = subprocess.run(
        [
            *(*command("conformance"), "client", "--command", client),
            *("--scenario", scenario, "--spec-version", version, "-o", str(folder)),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SUITE_SECONDS,
        check=False,
    )
    (found,) = folder.glob("*/checks.json")
    written = re.sub(r"\x1b\[\d+m", "", done.stdout + done.stderr).splitlines()[-SHOWN_LINES:]
    return Driven(
        version, scenario, era, outcome(json.loads(found.read_text())), "\n".join(written)
    )


def measure_clients(eras: Sequence[str] = ERAS) -> tuple[Driven, ...]:
    """Run every scenario with clients of these eras."""
    wanted = [(version, name, era) for era, (version, name) in product(eras, EVERY)]
    with ThreadPoolExecutor(AT_ONCE) as workers:
        return tuple(workers.map(lambda each: drive(*each), wanted))


def report_clients(every: Sequence[Driven]) -> int:
    """Print the counts and the problems; return the exit code."""
    shown = Table("revision", "scenario", "client", "passed", "failed", title="Client scenarios")
    for each in every:
        counts = str(each.outcome.passed), str(each.outcome.failed)
        shown.add_row(each.version, each.scenario, each.era, *counts)
    console = Console()
    console.print(shown)
    problems = [each.problem for each in every if each.problem is not None]
    for problem in problems:
        console.print(problem, soft_wrap=True, markup=False, highlight=False)
    return 1 if problems else 0
