"""What users are told of a status is what is written there."""

from __future__ import annotations

import re
from dataclasses import fields

from tests.house.reasons import ROOT, given
from vmcp.crd.specs.virtual import DiscoveredBackend
from vmcp.report.conditions import TYPES
from vmcp.report.drafts import LIMITS
from vmcp.report.entries import Standing
from vmcp.report.pace import PACE

PAGE = (ROOT / "docs" / "resources.md").read_text().split("## The status of a VirtualMCPServer")[1]


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def cells(head: str) -> set[str]:
    """Return the words in the first cells of a table."""
    table = PAGE.split(f"| {head} |")[1].split("\n\n")[0].splitlines()[2:]
    return {word for line in table for word in re.findall(r"`(\w+)`", line.split("|")[1])}


def test_the_page_tells_every_status_of_a_backend_and_no_other() -> None:
    assert cells("`status` | meaning") == {each.value for each in Standing}


def test_the_page_tells_every_field_of_an_entry_and_no_other() -> None:
    known = {camel(each.name) for each in fields(DiscoveredBackend)}  # type: ignore[arg-type]

    assert cells("field | what it is") == known - {"name", "status"}


def test_the_page_tells_every_condition_with_its_reasons() -> None:
    assert cells("condition | status | reason") == {*TYPES}
    reasons = given("report", by="Said", place=2)
    assert {"BackendsPending", "NoBackends"} <= reasons
    assert {each for each in reasons if f"`{each}`" not in PAGE} == set()


def test_the_page_tells_how_much_and_how_often_is_written() -> None:
    assert f"At most {LIMITS.entries:,} entries" in PAGE
    assert f"at most every {PACE.gap_seconds:g} s" in PAGE
    assert f"{PACE.bytes_per_second / 1000:g} kB a second" in PAGE
    assert f"every {PACE.heartbeat_seconds / 60:g} minutes" in PAGE
