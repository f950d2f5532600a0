"""What SIGHUP means: read the config anew, or that the terminal has gone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import until
from vmcp.net import signals

ROOT = Path(__file__).resolve().parents[2]
IN_A_TERMINAL = "import pty, sys; pty.spawn(sys.argv[1:])"


async def test_a_hang_up_reloads_where_there_is_no_terminal() -> None:
    heard: list[str] = []
    signals.on_hang_up(lambda: heard.append("reload"), lambda: heard.append("end"))
    try:
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: heard)
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)

    assert heard == ["reload"]


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_the_end_of_its_terminal_ends_a_gateway(tmp_path: Path) -> None:
    file = tmp_path / "vmcp.yaml"
    await asyncio.to_thread(file.write_text, "backends: []")
    serve = ["-m", "vmcp", "serve", "--port", "0", "--ops-port", "0", "-c", str(file)]
    argv = [sys.executable, "-c", IN_A_TERMINAL, sys.executable, *serve]
    terminal = await asyncio.create_subprocess_exec(
        *argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert terminal.stdout is not None
    while b"vmcp serves http" not in await terminal.stdout.readline():
        pass
    (gateway,) = children(terminal.pid)

    os.kill(gateway, signal.SIGHUP)
    await asyncio.to_thread(file.write_text, "backends: []\nname: alive")
    while b"the config is loaded anew" not in await terminal.stdout.readline():
        pass

    terminal.kill()
    await terminal.wait()

    await until(lambda: has_ended(gateway), seconds=20)
