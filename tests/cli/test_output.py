"""How things are printed."""

from __future__ import annotations

import pytest

from vmcp.cli.output import LINE_LENGTH, emit_json, emit_table, first_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain — text", "plain — text"),
        ("two\n\tlines", "two\n\tlines"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("bell\x07 and\rreturn", r"bell\x07 and\x0dreturn"),
    ],
)
def test_control_characters_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, ""),
        ("", ""),
        ("\n\n  Adds.  \nMore.", "Adds."),
        ("x" * LINE_LENGTH, "x" * LINE_LENGTH),
        ("x" * (LINE_LENGTH + 1), "x" * (LINE_LENGTH - 1) + "…"),
    ],
    ids=["absent", "empty", "indented", "fits", "too long"],
)
def test_a_description_is_its_first_line(text: str | None, line: str) -> None:
    assert first_line(text) == line


def test_columns_are_aligned_by_what_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    emit_table(("Name", "Text"), [("日本", "x"), ("abcde", "y\nz"), ("[bold]", "")])

    assert capsys.readouterr().out == "NAME    TEXT\n日本    x\nabcde   y\\x0az\n[bold]\n"


def test_json_keeps_characters_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"é": 2**64 + 1})

    assert capsys.readouterr().out == '{\n  "é": 18446744073709551617\n}\n'
