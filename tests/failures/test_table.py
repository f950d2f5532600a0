"""The page about failures is the tables that the tests run."""

from __future__ import annotations

from pathlib import Path

from tests.failures.matrix import CASES
from tests.failures.scarcity import SCARCITIES
from tests.failures.table import TITLES, page

PAGE = Path(__file__).parents[2] / "docs" / "failures.md"
TESTS = Path(__file__).parent


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m tests.failures.table > docs/failures.md"


def test_every_case_is_on_the_page_once() -> None:
    assert {case.phase for case in CASES} == set(TITLES)
    assert len({case.slug for case in CASES}) == len(CASES)


def test_what_the_page_says_of_the_machine_is_shown_by_tests() -> None:
    written = "".join(path.read_text() for path in TESTS.glob("test_*.py"))

    for each in SCARCITIES:
        assert f"def {each.test}(" in written
