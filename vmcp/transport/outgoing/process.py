"""Run a command as a child: whole lines in and out, its end told once, nothing of it left behind.

The event loop's own way to start processes is not used: what a child inherits differs between loops. No signal is
tied to our death: a gateway that is killed closes the child's input with it, which is the protocol's sign to exit.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from vmcp.model.backend import StdioEndpoint
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.lines import Lines, Overlong
from vmcp.transport.outgoing.stderr import Stderr

LINE_LIMIT = 16 * 2**20
_INPUT_CLOSED_SECONDS = 1.0
_TERMINATED_SECONDS = 2.0
# What a child wrote just before it exited is read first; its status is known a moment after its output ended.
_LAST_WORDS_SECONDS = 0.25
_PIPES_CLOSED_SECONDS = 1.0
# Lines that nobody waits to see written; a child that reads none of them gets no more.
_MOST_OFFERED = 64
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")


class Ear(Protocol):
    """Who is told of what a child says; the calls return at once."""

    def heard(self, line: bytes) -> None:
        """Take a line of its standard output."""
        ...

    def heard_overlong(self, line: Overlong) -> None:
        """Take what is left of a line that was too long."""
        ...

    def lost(self, why: str) -> None:
        """Take note, once, that nothing more will be heard."""
        ...


@asynccontextmanager
async def running(
    name: str, endpoint: StdioEndpoint, environment: Mapping[str, str], ear: Ear
) -> AsyncIterator[Child]:
    """Run the command for the block, and end it with all that it started; raise BackendFailed."""
    child = Child(name, ear, _spawned(name, endpoint, environment))
    try:
        await child.connect()
        yield child
    finally:
        await child.end()


def _spawned(
    name: str, endpoint: StdioEndpoint, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    env = child_environment(endpoint, environment)
    found = command(name, endpoint, env)
    try:
        return subprocess.Popen(  # noqa: S603
            (found, *endpoint.args),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=endpoint.cwd,
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise _unstartable(name, endpoint, f"cannot be started: {why}") from None
    except ValueError:
        # A null character or a name with an equals sign: where it was is not said, for it may be a secret.
        why = "cannot be started: a character in its command, args, env or cwd is impossible there"
        raise _unstartable(name, endpoint, why) from None


def child_environment(endpoint: StdioEndpoint, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return all variables that the child gets."""
    env = {key: environment[key] for key in _INHERITED if key in environment}
    return env | {key: value.reveal() for key, value in endpoint.env}


def command(name: str, endpoint: StdioEndpoint, env: Mapping[str, str]) -> str:
    """Return the path of the command; raise BackendFailed where the reason is worth a sentence of its own."""
    if endpoint.cwd is not None and not Path(endpoint.cwd).is_dir():
        raise _unstartable(name, endpoint, "cannot be started: its cwd is no folder")
    if "/" in endpoint.command:
        return endpoint.command
    found = shutil.which(endpoint.command, path=env.get("PATH", os.defpath))
    if found is None:
        raise _unstartable(name, endpoint, "was not found in PATH")
    return found


def _unstartable(name: str, endpoint: StdioEndpoint, why: str) -> BackendFailed:
    return BackendFailed(name, "Unreachable", f"the command '{endpoint.command}' {why}.")


class Child(asyncio.BaseProtocol):
    """A running child in a session of its own. As a protocol it is that of the child's input."""

    def __init__(self, name: str, ear: Ear, popen: subprocess.Popen[bytes]) -> None:
        self.pid = popen.pid
        self._popen = popen
        self._ear = ear
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(LINE_LIMIT)
        self._stderr = Stderr(name)
        self._stdin: asyncio.WriteTransport | None = None
        self._pipes: dict[str, asyncio.BaseTransport] = {}
        self._stopped: set[str] = set()
        self._exited = asyncio.Event()
        self._unplugged = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._offered: deque[bytes] = deque()
        self._is_lost = False
        threading.Thread(target=self._reap, name=f"reap-{popen.pid}", daemon=True).start()

    def _reap(self) -> None:
        self._popen.wait()
        with suppress(RuntimeError):
            # The loop is closed already where the process outlives it.
            self._loop.call_soon_threadsafe(self._has_exited)

    async def connect(self) -> None:
        """Take hold of the pipes: afterwards lines are heard and may be written."""
        out = _Reading(self._said, partial(self._plug, "stdout"), partial(self._unplug, "stdout"))
        err = _Reading(
            self._complained, partial(self._plug, "stderr"), partial(self._unplug, "stderr")
        )
        await self._loop.connect_write_pipe(lambda: self, self._popen.stdin)
        await self._loop.connect_read_pipe(lambda: out, self._popen.stdout)
        await self._loop.connect_read_pipe(lambda: err, self._popen.stderr)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the way to the child's input."""
        self._stdin = cast(asyncio.WriteTransport, transport)
        self._plug("stdin", transport)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Take note that nothing more can be said to the child."""
        self._unplug("stdin")

    def _plug(self, what: str, transport: asyncio.BaseTransport) -> None:
        self._pipes[what] = transport

    def _unplug(self, what: str) -> None:
        del self._pipes[what]
        if not self._pipes:
            self._unplugged.set()
        if what != "stderr":
            self._has_stopped(what)

    def _said(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if isinstance(line, Overlong):
                self._ear.heard_overlong(line)
            elif line:
                self._ear.heard(line)

    def _complained(self, data: bytes) -> None:
        self._stderr.feed(data, self._loop.time())

    def _has_exited(self) -> None:
        self._exited.set()
        self._has_stopped("process")

    def _has_stopped(self, what: str) -> None:
        self._stopped.add(what)
        if self._stopped >= {"process", "stdout"}:
            self._lose()
        elif len(self._stopped) == 1:
            self._loop.call_later(_LAST_WORDS_SECONDS, self._lose)

    def _lose(self) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._writable.set()
            self._ear.lost(self._why())

    def _why(self) -> str:
        status = self._popen.returncode
        if status is None:
            return (
                f"it closed its {max(self._stopped)}" if self._stopped else "its process was ended"
            )
        if status < 0:
            return f"its process was ended by {_signal_name(-status)}"
        return f"its process exited with status {status}; its stderr is logged at level debug"

    def pause_writing(self) -> None:
        """Take note that the child does not read as fast as we write."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Write what was offered meanwhile, and wake those who wait."""
        self._writable.set()
        while self._offered and self._writable.is_set():
            self.write(self._offered.popleft())

    async def writable(self) -> None:
        """Wait until the child takes more, or is lost."""
        while not (self._writable.is_set() or self._is_lost):
            await self._writable.wait()

    def write(self, line: bytes) -> None:
        """Write a whole line; first wait until the child is `writable`."""
        if self._is_lost or self._stdin is None or self._stdin.is_closing():
            return
        if b"\n" in line or b"\r" in line:
            # Between the tokens of JSON it is white space like any other; here it would end the message.
            line = line.replace(b"\n", b" ").replace(b"\r", b" ")
        self._stdin.write(line + b"\n")

    def offer(self, line: bytes) -> None:
        """Write a line as soon as the child takes it; it is dropped where too many wait for that."""
        if self._writable.is_set():
            self.write(line)
        elif len(self._offered) < _MOST_OFFERED:
            self._offered.append(line)

    async def end(self) -> None:
        """Close the child's input, then ask it to go, then make it; at once when cancelled meanwhile."""
        self._lose()
        try:
            await self._go()
        except asyncio.CancelledError:
            self._signal(signal.SIGKILL)
            await self._exited.wait()
            raise
        finally:
            # What a child has started and left behind ends with it.
            self._signal(signal.SIGKILL)
            self._close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PIPES_CLOSED_SECONDS):
                await self._unplugged.wait()

    async def _go(self) -> None:
        if self._stdin is not None:
            self._stdin.close()
        if not await self._exits(_INPUT_CLOSED_SECONDS):
            self._signal(signal.SIGTERM)
            if not await self._exits(_TERMINATED_SECONDS):
                self._signal(signal.SIGKILL)
                await self._exited.wait()

    async def _exits(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True

    def _close(self) -> None:
        if self._stdin is not None and "stdin" in self._pipes:
            # What the child did not read is not waited for.
            self._stdin.abort()
        for transport in self._pipes.values():
            transport.close()
        if not self._pipes:
            self._unplugged.set()
        self._stderr.close()

    def _signal(self, number: signal.Signals) -> None:
        # The group outlives its leader while it has members; an empty one is no error.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


class _Reading(asyncio.Protocol):
    """The protocol of a pipe that is read."""

    def __init__(
        self,
        take: Callable[[bytes], None],
        plug: Callable[[asyncio.BaseTransport], None],
        unplug: Callable[[], None],
    ) -> None:
        self._take = take
        self._plug = plug
        self._unplug = unplug

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say that the pipe is open."""
        self._plug(transport)

    def data_received(self, data: bytes) -> None:
        """Hand over what came."""
        self._take(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Say that nothing more comes."""
        self._unplug()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
