"""The command as a process: what it imports, how fast it is, and how it ends."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from importlib.metadata import version

import pytest

from tests.cli.conftest import ROOT, Vmcp, drain, spawn

HEAVY = ("mcp", "mcp_types", "aiohttp", "pydantic", "uvicorn", "starlette", "kubernetes_asyncio")
FOR_OTHERS = ("mcp", "mcp_types", "rich", "aiohttp", "httpx2", "opentelemetry")
TIMES_OF_AN_EMPTY_PROGRAM = 12


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from vmcp.cli.main import run; run(['--help']);"
        f"sys.stderr.write(', '.join(set({HEAVY!r}) & set(sys.modules)))"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ended.stderr == ""
    assert "Commands" in ended.stdout


def test_serving_imports_only_what_serves() -> None:
    program = (
        "import sys; import vmcp.cli.main, vmcp.cli.configuration, vmcp.app;"
        f"sys.stdout.write(', '.join(set({FOR_OTHERS!r}) & set(sys.modules)))"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ended.stdout == ""


def test_help_is_fast() -> None:
    empty = min(seconds(["-c", "pass"]) for _ in range(5))

    full = min(seconds(["-m", "vmcp", "--help"]) for _ in range(5))

    assert full < TIMES_OF_AN_EMPTY_PROGRAM * empty


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def test_the_version_is_the_package_s(vmcp: Vmcp) -> None:
    assert vmcp("--version").out == f"vmcp {version('vmcp')}\n"


@pytest.mark.parametrize("words", [["no-such-command"], ["tools", "--no-such-option"], ["call"]])
def test_wrong_usage_exits_with_2(vmcp: Vmcp, words: list[str]) -> None:
    assert vmcp(*words).code == 2


@pytest.mark.parametrize("command", ["tools", "prompts", "resources", "call"])
def test_each_command_has_help(vmcp: Vmcp, command: str) -> None:
    ended = vmcp(command, "--help")

    assert ended.code == 0
    assert "--url" in ended.out


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
def test_ctrl_c_exits_with_130_and_without_a_traceback(workshop_url: str, era: str) -> None:
    terminal, child = pty.openpty()
    process = spawn("call", "ticking", "--url", workshop_url, "--era", era, stderr=child)
    os.close(child)
    # The bar is drawn when the first progress has come, so the call is under way.
    drawn = os.read(terminal, 1)

    process.send_signal(signal.SIGINT)

    assert process.wait(timeout=20) == 130
    shown = drawn + drain(terminal)
    assert b"Traceback" not in shown
    assert process.communicate()[0] == ""


def test_nobody_reading_any_more_is_no_error(workshop_url: str) -> None:
    process = spawn("tools", "--url", workshop_url, "-o", "json")
    process.stdout.close()

    assert process.wait(timeout=20) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_terminal_gets_a_table_and_control_characters_written_out(workshop_url: str) -> None:
    assert "──" in on_terminal("tools", "--url", workshop_url)
    assert r"plain\x1b[31m text" in on_terminal("call", "show", "--url", workshop_url)


def test_a_terminal_shows_progress_as_a_bar(workshop_url: str) -> None:
    shown = on_terminal("call", "sand", "--url", workshop_url)

    assert "pass 3" in shown
    assert "100%" in shown
    assert shown.rstrip().endswith("smooth")


def on_terminal(*words: str) -> str:
    terminal, child = pty.openpty()
    process = spawn(*words, stdout=child, stderr=child)
    os.close(child)
    shown = drain(terminal)
    assert process.wait(timeout=20) == 0
    return shown.decode()
