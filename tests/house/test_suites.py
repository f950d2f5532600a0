"""The suites that must never be empty: their report is read rightly, and nothing in them is skipped."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fidelity.documents import FOLDER
from tests.house.suites import REQUIRED, main, ran
from tests.support.node import ROOT
from tests.support.raw_json import cases, items

NEVER_SKIPPED = ("tests/real", "tests/conformance", "tests/fidelity")
WAYS_TO_SKIP = frozenset(("skip", "skipif", "xfail", "importorskip"))
LEAST_GOLDEN_FILES = 16
LEAST_GOLDEN_PARTS = 110


def golden_parts(path: Path) -> int:
    raw = path.read_bytes()
    return len(items(raw) if raw.lstrip()[:1] == b"[" else cases(raw))


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).glob("**/*.py"))


def names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def report(tmp_path: Path, *suites: str, skipped: str | None = None) -> Path:
    """A report of one test a suite, one of them skipped."""
    inner = {suite: "<skipped/>" if suite == skipped else "" for suite in suites}
    lines = [
        f'<testcase classname="{suite}.test_x" name="t">{inside}</testcase>'
        for suite, inside in inner.items()
    ]
    path = tmp_path / "report.xml"
    path.write_text("<testsuites><testsuite>" + "".join(lines) + "</testsuite></testsuites>")
    return path


def test_the_golden_files_hold_what_they_should() -> None:
    parts = {path.stem: golden_parts(path) for path in FOLDER.glob("*.json")}

    assert len(parts) >= LEAST_GOLDEN_FILES
    assert all(parts.values())
    assert sum(parts.values()) >= LEAST_GOLDEN_PARTS


def test_every_golden_file_is_used_by_a_test() -> None:
    written = "".join(path.read_text() for path in sources("tests/fidelity"))

    assert not [path.stem for path in FOLDER.glob("*.json") if f'"{path.stem}"' not in written]


@pytest.mark.parametrize("folder", NEVER_SKIPPED)
def test_no_test_of_the_suite_can_be_skipped(folder: str) -> None:
    found = [path.name for path in sources(folder) if WAYS_TO_SKIP & set(names(path))]

    assert sources(folder)
    assert not found


def test_a_report_in_which_every_suite_ran_is_accepted(tmp_path: Path) -> None:
    path = report(tmp_path, *REQUIRED)

    assert ran(path) == dict.fromkeys(REQUIRED, 1)
    assert main(str(path)) == 0


@pytest.mark.parametrize("suite", REQUIRED)
def test_a_suite_that_ran_no_test_is_named(
    tmp_path: Path, suite: str, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [each for each in REQUIRED if each != suite]

    assert main(str(report(tmp_path, *others))) == 1
    assert f"{suite} ran no test." in capsys.readouterr().err
    assert main(str(report(tmp_path, *REQUIRED, skipped=suite))) == 1
