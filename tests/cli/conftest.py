"""The servers of these tests, and the command line run in this process or in its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.servers import paged, running, strange, workshop
from vmcp.cli.main import run

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Vmcp = Callable[..., Ended]


@pytest.fixture
def vmcp(capsys: pytest.CaptureFixture[str]) -> Vmcp:
    """Run a command in this process."""

    def command(*words: str) -> Ended:
        code = run(words)
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return command


def spawn(*words: str, **options: object) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-m", "vmcp", *words],
        cwd=ROOT,
        text=True,
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},  # noqa: TID251
        **{**pipes, **options},
    )


def drain(terminal: int) -> bytes:
    """Read from a pseudo-terminal to its end and close it."""
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            # Linux says so when the other side has closed the terminal.
            os.close(terminal)
            return shown


@pytest.fixture(scope="session")
def workshop_url() -> Iterator[str]:
    with running(workshop().streamable_http_app()) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="session")
def paged_url() -> Iterator[str]:
    with running(paged(3).streamable_http_app()) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="session")
def strange_url() -> Iterator[str]:
    with running(strange, lifespan="off") as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def free_port() -> Iterator[int]:
    # Bound, so that nobody else takes it, but not listening.
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
