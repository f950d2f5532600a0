"""`vmcp reload` beside a gateway that runs as a process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Vmcp, spawn


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "vmcp.yaml"
    file.write_text("backends: []\n")
    return file


@pytest.fixture
def ops_url(file: Path) -> Iterator[str]:
    """A gateway that serves the file; where its operations port is."""
    process = spawn("serve", "--port", "0", "--ops-port", "0", "-c", str(file))
    try:
        yield _first_line(process)["operations"]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _first_line(process: subprocess.Popen[str]) -> dict[str, str]:
    found: dict[str, str] = json.loads(process.stderr.readline())
    return found


def test_what_is_in_force_is_told(vmcp: Vmcp, file: Path, ops_url: str) -> None:
    file.write_text("backends: []\naggregation: {conflictResolution: manual}\n")

    ended = vmcp("reload", "--ops-url", ops_url)

    assert (ended.code, ended.out, ended.err) == (0, f"{file}: in force\n", "")


def test_the_address_may_come_from_the_environment(
    vmcp: Vmcp, ops_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VMCP_OPS_URL", ops_url)

    assert vmcp("reload").code == 0


def test_a_broken_config_is_told_with_all_its_errors(vmcp: Vmcp, file: Path, ops_url: str) -> None:
    file.write_text("backends: [{}]\nserver: {sse: many}\n")

    ended = vmcp("reload", "--ops-url", ops_url)

    assert ended.code == 1
    assert ended.out.startswith(f"{file}: ")
    assert "- backends[0].name (line 1, column 12): Is required.\n" in ended.out
    assert (
        "- server.sse (line 2, column 10): Must be true or false.\n    found: 'many'" in ended.out
    )
    assert ended.err == "The config before stays in force.\n"


def test_a_key_that_waits_for_a_restart_is_named(vmcp: Vmcp, file: Path, ops_url: str) -> None:
    file.write_text("backends: []\nserver: {path: /other}\n")

    ended = vmcp("reload", "--ops-url", ops_url)

    assert ended.code == 0
    assert ended.out == (f"{file}: in force\n- server.path: the new value waits for a restart\n")


def test_options_of_the_command_line_still_stand_in_for_keys(
    vmcp: Vmcp, file: Path, ops_url: str
) -> None:
    file.write_text("backends: []\nserver: {port: 5, opsPort: 6}\n")

    ended = vmcp("reload", "--ops-url", ops_url, "-o", "json")

    assert json.loads(ended.out)["restartNeeded"] == []


def test_programs_get_the_outcome_as_json(vmcp: Vmcp, file: Path, ops_url: str) -> None:
    file.write_text("backends: 1\n")

    ended = vmcp("reload", "--ops-url", ops_url, "--output", "json")

    told = json.loads(ended.out)
    assert ended.code == 1
    assert told["sources"] == [str(file)]
    assert [error["path"] for error in told["lastError"]["errors"]] == ["backends"]


def test_without_a_gateway_there_is_nothing_to_reload(vmcp: Vmcp) -> None:
    ended = vmcp("reload", "--ops-url", "http://127.0.0.1:1")

    assert ended.code == 3
    assert ended.err.startswith("Nothing listens at http://127.0.0.1:1")
