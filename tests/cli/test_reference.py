"""docs/cli.md: the chapter of the commands is what they say of themselves."""

from __future__ import annotations

import pytest

from tests.cli.conftest import ROOT
from vmcp.cli.main import COMMANDS
from vmcp.cli.reference import page, reference
from vmcp.cli.stop import ExitCode

PAGE = ROOT / "docs" / "cli.md"


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text()

    assert text == page(text), "run: python -m vmcp.cli.reference docs/cli.md"


def test_every_command_is_in_both_places_of_the_page() -> None:
    prose = PAGE.read_text().split("\n## Commands\n")[0]

    for command in COMMANDS:
        assert f"### `vmcp {command.__name__}`\n" in reference()
        assert f"{command.__name__}`" in prose


def test_options_are_told_with_values_defaults_and_variables() -> None:
    lines = reference().splitlines()

    assert "| `--output`, `-o` | `table`, `json` | `table` | How to print it. |" in lines
    assert any(line.startswith("| `--port` | number 0 to 65535 | - |") for line in lines)
    assert any(line.endswith("Environment: `VMCP_URL`. |") for line in lines)
    assert any(line.startswith("| `NAME` | text | required |") for line in lines)


@pytest.mark.parametrize("code", list(ExitCode), ids=lambda code: code.name)
def test_every_exit_code_is_on_the_page(code: ExitCode) -> None:
    assert f"\n| {code.value} | " in PAGE.read_text()


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the marks"):
        page("# The command line\n")
