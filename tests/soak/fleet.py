"""The backends of a soak: some that live on, some that are killed and started again, each at one place."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.support.node import ROOT
from tests.support.ports import lasting_port

SERVER = "tests.support.fake_process"
# What is measured is the gateway, and not who gets the processor first on a machine that is busy with the others.
LOWER = 10
YIELDING = ("nice", "-n", str(LOWER))
CHILD = ROOT / "tests" / "support" / "stdio_servers" / "server.py"
_START_SECONDS = 30.0
_FOREVER = float("inf")


@dataclass(slots=True)
class Ship:
    """One backend: its name and era, whether it may be killed, and when it was away."""

    name: str
    era: str
    is_child: bool
    is_mortal: bool
    port: int = 0
    away: list[tuple[float, float]] = field(default_factory=list)
    process: asyncio.subprocess.Process | None = None

    def entry(self) -> Mapping[str, Any]:
        """Return what the config says of it."""
        if self.is_child:
            # Its own name among the arguments tells its process from that of another one.
            arguments = ["-S", str(CHILD), "--era", self.era, "--name", self.name]
            stdio = {"command": sys.executable, "args": arguments}
            return {"name": self.name, "transport": "stdio", "stdio": stdio}
        return {"name": self.name, "url": f"http://127.0.0.1:{self.port}/mcp"}

    @property
    def uri(self) -> str:
        """The URI of its one resource."""
        return f"note://{self.port}/one"

    def was_away(self, began: float) -> bool:
        """Tell whether it was away at any time since."""
        return any(end > began for _, end in self.away)

    async def start(self) -> None:
        """Start the process, unless the gateway does."""
        if self.is_child:
            return
        self.process = await asyncio.create_subprocess_exec(
            *YIELDING,
            sys.executable,
            *("-m", SERVER, "--era", self.era, "--port", str(self.port)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self.process.stdout is not None
        async with asyncio.timeout(_START_SECONDS):
            await self.process.stdout.readline()

    async def kill(self, gateway: int) -> None:
        """Kill the process; from now on it is away."""
        self.away.append((perf_counter(), _FOREVER))
        if self.is_child:
            for pid in _children_named(gateway, self.name):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif self.process is not None:
            self.process.kill()
            await self.process.wait()

    def is_back(self) -> None:
        """Take note that calls to it must succeed from now on."""
        began, _ = self.away.pop()
        self.away.append((began, perf_counter()))

    async def stop(self) -> None:
        """End the process."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


def fleet() -> list[Ship]:
    """Return the backends: of both eras, over HTTP and stdio, some of them mortal."""
    made = [
        Ship(f"{kind}-{era}-{way}", era, is_child=way == "child", is_mortal=kind == "mortal")
        for kind in ("steady", "mortal")
        for era in ("sessioned", "stateless")
        for way in ("http", "child")
    ]
    for ship in made:
        ship.port = lasting_port()
    return made


def _children_named(pid: int, name: str) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):
            found += [int(each) for each in (task / "children").read_text().split()]
    return [each for each in found if name in _command(each)]


def _command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []
