"""The example for a team runs as its README says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import ROOT, Vmcp, spawn
from vmcp.config.load import load


@pytest.fixture
def team(tmp_path: Path, vmcp: Vmcp) -> tuple[Path, str]:
    """Prepare the folder; return it and ada's key."""
    folder = tmp_path / "team"
    shutil.copytree(ROOT / "examples" / "team", folder)
    subprocess.run([sys.executable, folder / "certificate.py"], check=True, capture_output=True)
    made = vmcp("key", "ada")
    (folder / "keys.txt").write_text(made.out)
    return folder, made.err.splitlines()[1]


def test_what_the_file_says_is_what_validate_takes(vmcp: Vmcp, team: tuple[Path, str]) -> None:
    folder, _ = team

    assert vmcp("validate", "-c", str(folder / "vmcp.yaml")).code == 0
    assert (folder / "tls.key").stat().st_mode & 0o077 == 0


def test_ada_calls_and_strangers_do_not(vmcp: Vmcp, team: tuple[Path, str]) -> None:
    folder, key = team
    file = folder / "vmcp.yaml"
    settings = yaml.safe_load(file.read_text())
    settings["backends"][0]["stdio"]["command"] = sys.executable
    file.write_text(yaml.safe_dump(settings))
    assert load(file, {}).config.server.host == "0.0.0.0"
    words = ("--host", "127.0.0.1", "--port", "0", "--ops-port", "0")
    process = spawn("serve", "-c", str(file), *words)
    try:
        url = json.loads(process.stderr.readline())["url"]
        while json.loads(process.stderr.readline())["message"] != "backend is ready":
            pass
        way = ("--url", url, "--ca-file", str(folder / "tls.crt"))
        called = vmcp("call", "clock_now", *way, "--header", f"X-API-Key: {key}")
        stranger = vmcp("tools", *way)
    finally:
        process.terminate()
        process.communicate(timeout=30)

    assert re.match(r"\d{4}-\d\d-\d\dT", called.out)
    assert (stranger.code, "wants a credential" in stranger.err) == (3, True)
