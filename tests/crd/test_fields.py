"""No field, default, choice or bound of a kind vanishes or changes unseen."""

from __future__ import annotations

from pathlib import Path

from tests.crd.fields import table

TABLE = Path(__file__).parent / "fields.txt"


def test_the_fields_are_those_of_the_table() -> None:
    kept, found = (text.splitlines() for text in (TABLE.read_text(), table()))

    assert found == kept, "if it is meant: python -m tests.crd.fields > tests/crd/fields.txt"
