"""The processes of a benchmark: how they start and stop, and the CPU time that they use."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

from benchmarks.wire import Answer, Connection, Lost, Place

ROOT = Path(__file__).resolve().parent.parent
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02
_FETCH_SECONDS = 10.0
_LOG_BYTES_SHOWN = 2000


class ProcessFailed(RuntimeError):
    """A process ended badly or was not ready in time; the text holds the end of what it wrote."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def python(module: str, *arguments: object) -> tuple[str, ...]:
    """Return the command line of a module of this project."""
    return (sys.executable, "-m", module, *map(str, arguments))


def cpu_seconds(pid: int) -> float | None:
    """Return the user and system time that a process has used; None where there is no /proc."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return None
    # The name, in parentheses, may hold spaces; proc(5) calls these the fields 14 and 15.
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> float:
    """Return the memory that a process holds; not a number where there is no /proc."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    sizes = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(sizes[0]) * 1024.0 if sizes else math.nan


async def fetch(url: str, method: str = "GET") -> Answer:
    """Send a request without a body and return its answer; raise OSError if there is none."""
    place = Place.of(url)
    connection = await Connection.open(place)
    try:
        async with asyncio.timeout(_FETCH_SECONDS):
            return await connection.fetch(place.head(method, {}) + b"\r\n")
    finally:
        connection.close()


async def accepts(port: int) -> bool:
    """Tell whether somebody listens on a port of 127.0.0.1."""
    try:
        connection = await Connection.open(Place("127.0.0.1", port, "/"))
    except OSError:
        return False
    connection.close()
    return True


async def is_ok(url: str) -> bool:
    """Tell whether a GET is answered with 200."""
    try:
        answer = await fetch(url)
    except (OSError, Lost):
        return False
    return answer.status == 200  # noqa: PLR2004 (the status of HTTP)


@asynccontextmanager
async def running(
    command: Sequence[str],
    *,
    is_ready: Callable[[], Awaitable[bool]],
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[int]:
    """Run a command from when it is ready until the block ends; give its process id."""
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=env, stdin=DEVNULL, stdout=log, stderr=log
        )
        try:
            await _until_ready(process, is_ready, command, log)
            yield process.pid
        finally:
            await _stop(process)


async def output_of(command: Sequence[str], *, seconds: float) -> bytes:
    """Run a command to its end and return what it printed; raise ProcessFailed if it fails."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    try:
        async with asyncio.timeout(seconds):
            printed, complaint = await process.communicate()
    except TimeoutError:
        raise ProcessFailed(f"{_title(command)} did not end within {seconds:.0f} s.") from None
    finally:
        await _stop(process)
    if process.returncode:
        raise ProcessFailed(f"{_title(command)} failed:\n{_end(complaint)}")
    return printed


async def _until_ready(
    process: Process,
    is_ready: Callable[[], Awaitable[bool]],
    command: Sequence[str],
    log: IO[bytes],
) -> None:
    try:
        async with asyncio.timeout(_START_SECONDS):
            while not await is_ready():
                if process.returncode is not None:
                    raise ProcessFailed(f"{_title(command)} ended:\n{_tail(log)}")
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        complaint = f"{_title(command)} was not ready within {_START_SECONDS:.0f} s"
        raise ProcessFailed(f"{complaint}:\n{_tail(log)}") from None


async def _stop(process: Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _title(command: Sequence[str]) -> str:
    return " ".join(Path(part).name if part.startswith("/") else part for part in command)


def _tail(log: IO[bytes]) -> str:
    log.seek(0)
    return _end(log.read())


def _end(written: bytes) -> str:
    return written[-_LOG_BYTES_SHOWN:].decode(errors="replace").strip()
