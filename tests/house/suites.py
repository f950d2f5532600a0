"""Fail where a suite that must never be empty ran no test: real servers, conformance, the page, the API server."""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

REQUIRED = (
    "tests.real",
    "tests.conformance",
    "tests.fidelity",
    "tests.edge_cases",
    "tests.journeys",
    "tests.keys",
    "tests.secrets",
    "tests.ui",
    "tests.cluster",
    "tests.objects",
    "tests.charts",
)


def ran(report: Path) -> Counter[str]:
    """Return how many tests of each required suite ran to their end, those skipped not counted."""
    counts: Counter[str] = Counter()
    for case in ET.parse(report).iter("testcase"):
        suite = ".".join(case.get("classname", "").split(".")[:2])
        if suite in REQUIRED and case.find("skipped") is None:
            counts[suite] += 1
    return counts


def main(*reports: str) -> int:
    """Print what is missing and return the exit code."""
    counts: Counter[str] = Counter()
    for report in reports:
        counts += ran(Path(report))
    missing = [suite for suite in REQUIRED if not counts[suite]]
    for suite in missing:
        print(f"{suite} ran no test.", file=sys.stderr)  # noqa: T201
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
