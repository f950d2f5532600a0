"""The demo: real servers from the registries behind one gateway, called in both eras."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.cli.conftest import ROOT

DEMO = ROOT / "examples" / "quickstart" / "demo.py"


def test_the_demo_calls_every_server_in_both_eras_and_stops() -> None:
    ended = subprocess.run(
        [sys.executable, str(DEMO)],
        env={**os.environ, "DEMO_EXIT": "1"},  # noqa: TID251
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "28 tools of 4 servers" in ended.stdout
    assert "clients see files_read_file and notes_read_file" in ended.stdout
    assert "sessioned era, MCP 2025-11-25" in ended.stdout
    assert "stateless era, MCP 2026-07-28" in ended.stdout
    assert ended.stdout.count("[3 progr") == 2
    assert "All of it worked." in ended.stdout
