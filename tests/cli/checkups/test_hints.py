"""Each cause that a checkup can tell has a hint, and no hint is for nothing."""

from __future__ import annotations

import re

from tests.house.reasons import ROOT, given
from vmcp.cli.checkups.hints import HINTS

# What only calls of clients meet.
OF_CALLS = {"AsksWithoutEnd"}
WORD = re.compile(r'"([A-Z][a-z]+(?:[A-Z][a-z]+)+)"')


def written() -> set[str]:
    """Return all words in the code of checkups that look like causes."""
    sources = (ROOT / "vmcp" / "cli" / "checkups").glob("*.py")
    return {
        word
        for path in sources
        if path.name != "hints.py"
        for word in WORD.findall(path.read_text())
    }


def of_backends() -> set[str]:
    return given("transport/outgoing", by="BackendFailed") - OF_CALLS


def test_every_cause_has_a_hint() -> None:
    assert of_backends() | given("cli/checkups", by="Trouble") <= HINTS.keys()
    assert written() <= HINTS.keys()


def test_every_hint_has_a_cause() -> None:
    known = written() | of_backends() | given("cli/checkups", by="Trouble")

    assert not HINTS.keys() - known
