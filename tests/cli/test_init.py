"""`vmcp init`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Vmcp
from vmcp.config.starter import starter


def test_the_starter_file_is_written_and_valid(
    vmcp: Vmcp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    written = vmcp("init")

    assert (written.code, (tmp_path / "vmcp.yaml").read_text()) == (0, starter())
    assert vmcp("validate").code == 0


def test_a_file_is_not_overwritten(vmcp: Vmcp, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine")

    ended = vmcp("init", str(file))

    assert (ended.code, file.read_text()) == (2, "mine")
    assert ended.err == f"{file} exists: give another name, or --force to overwrite it.\n"


def test_force_overwrites(vmcp: Vmcp, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine")

    ended = vmcp("init", str(file), "--force")

    assert (ended.code, file.read_text()) == (0, starter())


def test_a_place_that_cannot_be_written_is_told(vmcp: Vmcp, tmp_path: Path) -> None:
    ended = vmcp("init", str(tmp_path / "no" / "vmcp.yaml"))

    assert ended.code == 2
    assert "cannot be written: No such file or directory." in ended.err
