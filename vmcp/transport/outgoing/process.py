"""Run a command as a child: whole lines in and out, its end told once, nothing of it left behind.

No signal is tied to our own death: a gateway that is killed closes the child's standard input with it,
which is the protocol's sign to exit.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol, cast

from vmcp.model.backend import StdioEndpoint
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.lines import Lines, Overlong
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
    child = await _started(name, endpoint, environment, ear)
    try:
        yield child
    finally:
        await child.end()


async def _started(
    name: str, endpoint: StdioEndpoint, environment: Mapping[str, str], ear: Ear
) -> Child:
    env = {key: environment[key] for key in _INHERITED if key in environment}
    env |= {key: value.reveal() for key, value in endpoint.env}
    command = _found(name, endpoint, env)
    try:
        _, child = await asyncio.get_running_loop().subprocess_exec(
            lambda: Child(name, ear),
            command,
            *endpoint.args,
            env=env,
            cwd=endpoint.cwd,
            start_new_session=True,
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise _unstartable(name, endpoint, f"cannot be started: {why}") from None
    return child


def _found(name: str, endpoint: StdioEndpoint, env: Mapping[str, str]) -> str:
    """Return the path of the command; raise BackendFailed where the reason is worth a sentence of its own."""
    texts = (endpoint.command, *endpoint.args, *env, *env.values(), endpoint.cwd or "")
    if any("\0" in text for text in texts):
        # Some loops would cut the text at that place and run something else.
        raise _unstartable(name, endpoint, "has a null character in its args, env or cwd")
    if endpoint.cwd is not None and not Path(endpoint.cwd).is_dir():
        raise _unstartable(name, endpoint, "cannot be started: its cwd is no folder")
    if "/" in endpoint.command:
        return endpoint.command
    found = shutil.which(endpoint.command, path=env.get("PATH", os.defpath))
    if found is None:
        raise _unstartable(name, endpoint, "was not found in PATH")
    return found


def _unstartable(name: str, endpoint: StdioEndpoint, why: str) -> BackendFailed:
    command = endpoint.command.replace("\0", "\\0")
    return BackendFailed(name, "Unreachable", f"the command '{command}' {why}.")


class Child(asyncio.SubprocessProtocol):
    """A running child in a session of its own; made by the event loop, ended by `end`."""

    def __init__(self, name: str, ear: Ear) -> None:
        self._ear = ear
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(LINE_LIMIT)
        self._stderr = Stderr(name)
        self._stopped: set[str] = set()
        self._exited = asyncio.Event()
        self._disconnected = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._offered: deque[bytes] = deque()
        self._is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take what the loop has made of the child."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take bytes of the child's output or of its complaints."""
        if fd == 2:
            self._stderr.feed(data, self._loop.time())
            return
        for line in self._lines.feed(data):
            if isinstance(line, Overlong):
                self._ear.heard_overlong(line)
            elif line:
                self._ear.heard(line)

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        """Take note that a pipe has ended; without the first or the second nothing more is said."""
        if fd != 2:
            self._has_stopped("stdin" if fd == 0 else "stdout")

    def process_exited(self) -> None:
        """Take note of the exit; its last words may still lie in the pipe."""
        self._exited.set()
        self._has_stopped("process")

    def connection_lost(self, _exc: Exception | None) -> None:
        """Take note that the process and all its pipes are gone."""
        self._disconnected.set()

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
        status = self._transport.get_returncode()
        if status is None:
            return (
                "its process was ended"
                if not self._stopped
                else f"it closed its {max(self._stopped)}"
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
        if self._is_lost or self._stdin.is_closing():
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
        self._stdin.close()
        try:
            if not await self._exits(_INPUT_CLOSED_SECONDS):
                self._signal(signal.SIGTERM)
                if not await self._exits(_TERMINATED_SECONDS):
                    self._signal(signal.SIGKILL)
                    await self._exited.wait()
        except asyncio.CancelledError:
            self._signal(signal.SIGKILL)
            await self._exited.wait()
            raise
        finally:
            # What a child has started and left behind ends with it.
            self._signal(signal.SIGKILL)
            self._transport.close()
            self._stderr.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PIPES_CLOSED_SECONDS):
                await self._disconnected.wait()

    async def _exits(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        # The group outlives its leader while it has members; an empty one is no error.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
