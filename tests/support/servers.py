"""Real servers for tests: started on free loopback ports, awaited, and always ended.

A server runs in a process group of its own, which ends with the `with` block. What it wrote is
shown by the error that it caused, or by the failure of the test that used it.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import yaml

from tests.support.node import ROOT
from tests.support.ports import lasting_port

START_SECONDS = 30
STOP_SECONDS = 10
ANSWER_SECONDS = 2
LOOK_SECONDS = 0.02
SHOWN_LINES = 40

T = TypeVar("T")


class ServerFailedError(RuntimeError):
    """A server ended early or did not become ready; the message holds what it wrote."""


@dataclass(frozen=True, slots=True)
class Process:
    """A started program and the file that its output goes to."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        """The id of the process, which is the id of its group as well."""
        return self.popen.pid

    def written(self) -> str:
        """Return the last lines that the program wrote."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-SHOWN_LINES:]) or "(nothing)"

    def failed(self, what: str) -> ServerFailedError:
        """Return the error that says what went wrong and what the program wrote."""
        return ServerFailedError(f"{self.name} {what}; it wrote:\n{self.written()}")

    def check_alive(self) -> None:
        """Raise unless the program still runs."""
        code = self.popen.poll()
        if code is not None:
            raise self.failed(f"ended with exit code {code} before it was ready")


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that is ready: where clients go, where operations are, its process."""

    url: str
    ops_url: str
    process: Process


@contextmanager
def started(
    name: str,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdout: int | None = None,
    stderr: IO[bytes] | None = None,
) -> Iterator[Process]:
    """Start a program in a process group of its own; end the group when the block ends.

    Its stdout is kept with its stderr, unless `stdout` is subprocess.PIPE; `stderr` may go elsewhere.
    """
    with tempfile.TemporaryDirectory(prefix="vmcp-test-") as place:
        log = Path(place) / "output"
        with log.open("wb") as output:
            popen = _start(argv, env=env or {}, stdout=stdout or output, stderr=stderr or output)
        process = Process(name, popen, log)
        try:
            yield process
        except ServerFailedError:
            raise
        except Exception as error:
            error.add_note(f"{name} wrote:\n{process.written()}")
            raise
        finally:
            _stop(popen)


@contextmanager
def serving(
    name: str, argv: Sequence[str], *, env: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Start a server that prints its URL on the first line of stdout; yield the URL."""
    with started(name, argv, env=env, stdout=subprocess.PIPE) as process:
        yield _first_line(process)


@contextmanager
def fixture_server(era: str = "both") -> Iterator[str]:
    """Start the fixture of the conformance suite; era is both, sessioned or stateless."""
    argv = [sys.executable, "-m", "tests.conformance.server", "--era", era]
    with serving(f"the fixture ({era})", argv) as url:
        yield url


@contextmanager
def run_gateway(
    config_text: str,
    *,
    arguments: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    stderr: IO[bytes] | None = None,
) -> Iterator[Gateway]:
    """Start `vmcp serve` with this configuration and wait until it is ready.

    Ports that the configuration does not name are free ones.
    """
    config = yaml.safe_load(config_text)
    server = {"port": free_port(), "opsPort": free_port()} | config.get("server", {})
    with tempfile.TemporaryDirectory(prefix="vmcp-test-") as place:
        path = Path(place) / "vmcp.yaml"
        path.write_text(yaml.safe_dump(config | {"server": server}, sort_keys=False))
        argv = [sys.executable, "-m", "vmcp", "serve", "--config", str(path), *arguments]
        with started("vmcp serve", argv, env=env, stderr=stderr) as process:
            wait_until_ready(process, server["port"])
            yield _gateway(server, process)


@asynccontextmanager
async def in_thread(manager: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave a context manager of this module without blocking the event loop."""
    value = await asyncio.to_thread(manager.__enter__)
    try:
        yield value
    except BaseException as error:
        await asyncio.to_thread(manager.__exit__, type(error), error, error.__traceback__)
        raise
    await asyncio.to_thread(manager.__exit__, None, None, None)


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on, and that nobody gets before it is used."""
    return lasting_port()


def wait_until_ready(process: Process, port: int) -> None:
    """Return once /readyz answers 200; raise when the program ends or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    answer = "no answer"
    while time.monotonic() < deadline:
        process.check_alive()
        answer = _ask_readiness(port)
        if answer == "200":
            return
        with suppress(subprocess.TimeoutExpired):
            process.popen.wait(LOOK_SECONDS)
    raise process.failed(f"was not ready after {START_SECONDS} s (/readyz: {answer})")


def _gateway(server: Mapping[str, Any], process: Process) -> Gateway:
    path = server.get("path", "/mcp")
    return Gateway(
        url=f"http://127.0.0.1:{server['port']}{path}",
        ops_url=f"http://127.0.0.1:{server['opsPort']}",
        process=process,
    )


def _ask_readiness(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return str(connection.getresponse().status)
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


def _first_line(process: Process) -> str:
    stdout = process.popen.stdout
    if stdout is None:
        raise process.failed("has no stdout to read from")
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        if not selector.select(START_SECONDS):
            raise process.failed(f"printed no URL for {START_SECONDS} s")
    line = stdout.readline().decode().strip()
    if not line:
        process.popen.wait(STOP_SECONDS)
        process.check_alive()
    return line


def _start(
    argv: Sequence[str], *, env: Mapping[str, str], stdout: int | IO[bytes], stderr: IO[bytes]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        cwd=ROOT,
        # A test's server lives in the test's own environment, with what the test adds.
        env={**os.environ, **env},  # noqa: TID251
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def _stop(popen: subprocess.Popen[bytes]) -> None:
    _signal(popen, signal.SIGTERM)
    try:
        popen.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        _signal(popen, signal.SIGKILL)
        popen.wait(STOP_SECONDS)
    if popen.stdout is not None:
        popen.stdout.close()


def _signal(popen: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # Once the process has been reaped its id may name a group of somebody else.
    if popen.poll() is None:
        os.killpg(popen.pid, number)
