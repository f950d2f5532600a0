"""Backends of the failure matrix: each behaves, is in trouble for a while, and behaves again.

A site has one place for all of its life, so that a gateway that was told of it once finds it again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from ssl import SSLContext
from typing import Any

from tests.net.certificates import Identity
from tests.support.node import ROOT
from tests.support.ports import lasting_port
from tests.support.scripted import Era, Script, Scripted
from tests.support.waiting import until

CHILD = ROOT / "tests" / "failures" / "child.py"
SERVER = "tests.support.fake_process"
START_SECONDS = 20.0


class Site(ABC):
    """One backend; `from_start` sites are in trouble before the gateway meets them."""

    def __init__(self, era: Era) -> None:
        self.era = era

    @abstractmethod
    def entry(self) -> Mapping[str, Any]:
        """Return what the config says of it beside its name."""

    @abstractmethod
    async def start(self) -> None:
        """Behave."""

    @abstractmethod
    async def begin(self) -> None:
        """Be in trouble from now on, be it for the first time or not."""

    @abstractmethod
    async def end(self) -> None:
        """Behave again."""

    @abstractmethod
    async def stop(self) -> None:
        """Be gone for good."""

    async def strike(self) -> None:
        """Do what hits a call that is under way; most troubles are there before it."""
        return


class HttpSite(Site):
    """A scripted backend: in trouble it answers by `trouble`, and is silent in no other way."""

    def __init__(
        self, era: Era, trouble: Mapping[str, Script] | None = None, *, times: int | None = None
    ) -> None:
        super().__init__(era)
        self.backend = Scripted(era)
        self.port = lasting_port()
        self._trouble = dict(trouble or {})
        self._times = times
        self._serving = AsyncExitStack()

    def entry(self) -> Mapping[str, Any]:
        """Return where it is reached."""
        return {"url": f"http://127.0.0.1:{self.port}/mcp", "transport": "streamable-http"}

    async def start(self) -> None:
        """Serve."""
        await self._serve(None)

    async def _serve(self, tls: SSLContext | None) -> None:
        await self._serving.enter_async_context(self.backend.serving(self.port, tls))

    async def begin(self) -> None:
        """Answer wrongly."""
        if self.backend.port == 0:
            await self.start()
        self.backend.script.update(
            {method: self._limited(script) for method, script in self._trouble.items()}
        )

    def _limited(self, script: Script) -> Script:
        if self._times is None:
            return script
        left = [script] * self._times
        return lambda heard: left.pop()(heard) if left else self.backend.behaves(heard)

    async def end(self) -> None:
        """Answer rightly."""
        self.backend.script.clear()

    async def stop(self) -> None:
        """Close what is open."""
        await self._serving.aclose()


class Away(HttpSite):
    """Nobody listens while it is in trouble."""

    async def begin(self) -> None:
        """Close the port and all connections."""
        await self._serving.aclose()

    async def end(self) -> None:
        """Listen again."""
        await self.start()


class Full(Away):
    """In trouble it has no room for one more connection: the system drops the first packet of each."""

    def __init__(self, era: Era) -> None:
        super().__init__(era)
        self._held: list[socket.socket] = []

    async def begin(self) -> None:
        """Listen, and fill the only place there is."""
        await super().begin()
        listening = socket.create_server(("127.0.0.1", self.port), backlog=0)
        self._held.append(listening)
        for _ in range(2):
            one = socket.socket()
            one.setblocking(False)  # noqa: FBT003 (so the standard library has it)
            with suppress(BlockingIOError):
                one.connect(("127.0.0.1", self.port))
            self._held.append(one)

    async def end(self) -> None:
        """Make room."""
        self._release()
        await super().end()

    async def stop(self) -> None:
        """Close what is open."""
        self._release()
        await super().stop()

    def _release(self) -> None:
        for each in reversed(self._held):
            each.close()
        self._held.clear()


class Mute(Away):
    """In trouble it takes connections and bytes, and says nothing; `at_once` it hangs up instead."""

    def __init__(self, era: Era, *, at_once: bool = False) -> None:
        super().__init__(era)
        self._at_once = at_once

    async def begin(self) -> None:
        """Take connections."""
        await super().begin()
        server = await asyncio.start_server(self._taken, "127.0.0.1", self.port)
        self._serving.callback(server.close)

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while not self._at_once and await reader.read(2**16):
                pass
        writer.close()

    async def end(self) -> None:
        """Speak."""
        await self._serving.aclose()
        await super().end()


class TlsSite(HttpSite):
    """A backend with a certificate: in trouble it shows another one, or none and says nothing."""

    def __init__(self, era: Era, good: Identity, bad: Identity | None, trusted: Identity) -> None:
        super().__init__(era)
        self._good, self._bad, self._trusted = good, bad, trusted

    def entry(self) -> Mapping[str, Any]:
        """Return where it is reached, and whom to trust."""
        url = f"https://127.0.0.1:{self.port}/mcp"
        return {"url": url, "transport": "streamable-http", "caBundle": self._trusted.pem}

    async def start(self) -> None:
        """Show the right certificate."""
        await self._serve(self._good.server())

    async def begin(self) -> None:
        """Show the other one."""
        await self._serving.aclose()
        if self._bad is not None:
            await self._serve(self._bad.server())
            return
        server = await asyncio.start_server(_silent, "127.0.0.1", self.port)
        self._serving.callback(server.close)

    async def end(self) -> None:
        """Show the right one again."""
        await self._serving.aclose()
        await self.start()


class TrustedLater(TlsSite):
    """A backend whose authority changes, and after it the file of those that are trusted."""

    def __init__(
        self, era: Era, good: Identity, bad: Identity, old: Identity, new: Identity
    ) -> None:
        super().__init__(era, good, bad, old)
        self._new = new
        self._folder = tempfile.TemporaryDirectory(prefix="vmcp-test-")
        self._file = Path(self._folder.name) / "authorities.pem"
        self._file.write_text(old.pem)

    def entry(self) -> Mapping[str, Any]:
        """Return where it is reached, and which file to trust."""
        url = f"https://127.0.0.1:{self.port}/mcp"
        return {"url": url, "transport": "streamable-http", "caBundlePath": str(self._file)}

    async def end(self) -> None:
        """Trust the new authority, and no more the old one."""
        self._file.write_text(self._new.pem)

    async def stop(self) -> None:
        """Leave no file."""
        await super().stop()
        self._folder.cleanup()


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while await reader.read(2**16):
            pass
    writer.close()


class ProcessSite(Site):
    """A server in a process of its own, which gets `signals` one after the other when trouble strikes."""

    def __init__(self, era: Era, number: signal.Signals, *, is_back: bool = False) -> None:
        super().__init__(era)
        self.port = lasting_port()
        self._number = number
        self._is_back = is_back
        self._process: asyncio.subprocess.Process | None = None

    def entry(self) -> Mapping[str, Any]:
        """Return where it is reached."""
        return {"url": f"http://127.0.0.1:{self.port}/mcp", "transport": "streamable-http"}

    async def start(self) -> None:
        """Start the process and wait until it serves."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", SERVER, "--era", str(self.era), "--port", str(self.port)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            await self._process.stdout.readline()

    async def begin(self) -> None:
        """Have the signal sent between two calls, unless it is to hit one."""
        await self._signal()
        if self._is_back:
            await self.start()

    async def _signal(self) -> None:
        assert self._process is not None
        self._process.send_signal(self._number)
        if self._number is not signal.SIGSTOP:
            await self._process.wait()

    async def end(self) -> None:
        """Be there again."""
        assert self._process is not None
        if self._number is signal.SIGSTOP:
            self._process.send_signal(signal.SIGCONT)
        elif self._process.returncode is not None:
            await self.start()

    async def stop(self) -> None:
        """End the process, stopped or not."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


class Struck(ProcessSite):
    """A process that is hit while a call is under way."""

    async def begin(self) -> None:
        """Wait for the call."""

    async def strike(self) -> None:
        """Hit it."""
        await self._signal()


class ChildSite(Site):
    """A child process of the gateway, which reads from a file how it is to behave."""

    def __init__(self, era: Era, mode: str) -> None:
        super().__init__(era)
        self._mode = mode
        self._folder = tempfile.TemporaryDirectory(prefix="vmcp-test-")
        self._file = Path(self._folder.name) / "mode"
        self._file.write_text("")

    def entry(self) -> Mapping[str, Any]:
        """Return how it is started."""
        arguments = ["-S", str(CHILD), str(self.era), str(self._file)]
        return {"transport": "stdio", "stdio": {"command": sys.executable, "args": arguments}}

    async def start(self) -> None:
        """Need nothing: the gateway starts it."""

    async def begin(self) -> None:
        """Tell it how to behave."""
        self._file.write_text(self._mode)

    async def end(self) -> None:
        """Tell it to behave."""
        self._file.write_text("")

    async def stop(self) -> None:
        """Leave no file."""
        self._folder.cleanup()


class Signalled(ChildSite):
    """A child that gets a signal: between two calls, or while a call is `struck`."""

    def __init__(self, era: Era, number: signal.Signals, *, struck: bool = False) -> None:
        super().__init__(era, "slow" if struck else "")
        self._number = number
        self._struck = struck

    async def begin(self) -> None:
        """Send the signal, unless it is to hit a call."""
        await super().begin()
        if not self._struck:
            await self.strike()

    async def strike(self) -> None:
        """Send the signal to the newest process."""
        os.kill(await self._pid(), self._number)

    async def _pid(self) -> int:
        place = self._file.with_name("pid")
        await until(place.exists)
        return int(place.read_text())

    async def end(self) -> None:
        """Let it go on where it was stopped."""
        await super().end()
        if self._number is signal.SIGSTOP:
            with suppress(ProcessLookupError):
                os.kill(await self._pid(), signal.SIGCONT)


class Absent(ChildSite):
    """A command that is not there while it is in trouble."""

    def __init__(self, era: Era) -> None:
        super().__init__(era, "")
        self._command = self._file.with_name("server")

    def entry(self) -> Mapping[str, Any]:
        """Return how it is started."""
        arguments = [str(self.era), str(self._file)]
        return {
            "transport": "stdio",
            "stdio": {"command": str(self._command), "args": arguments},
        }

    async def start(self) -> None:
        """Be there."""
        self._command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{CHILD}" "$@"\n')
        self._command.chmod(0o700)

    async def begin(self) -> None:
        """Be not there."""
        self._command.unlink(missing_ok=True)

    async def end(self) -> None:
        """Be there again."""
        await self.start()
