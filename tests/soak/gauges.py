"""What a soak measures of the gateway: memory, files, tasks, and how late its event loop is beside an idle one.

As a program, `python -m tests.soak.gauges URL`, it is an otherwise idle process that asks /health again and again
from the first line of its input to the end of it, and
prints how late its own loop was and how long the answers took.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.wire import Connection, Place
from tests.support.node import ROOT

_EVERY_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the process."""

    at: float
    resident_bytes: int
    files: int


def look(pid: int, at: float) -> Sample:
    """Look at a process now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    resident = int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024
    return Sample(at, resident, len(list(Path(f"/proc/{pid}/fd").iterdir())))


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which a share of sorted values lies."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return quantile(sorted(values), 0.5)


@dataclass(frozen=True, slots=True)
class Lateness:
    """The 99th percentiles, in seconds: of an idle loop, and of answers to /health asked by it."""

    idle: float
    answered: float

    @property
    def more(self) -> float:
        """By how much the gateway is later than a loop that has nothing to do."""
        return max(0.0, self.answered - self.idle)


class Prober:
    """The idle process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, url: str) -> Prober:
        """Start it; it waits."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.soak.gauges", url),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        return cls(process)

    def begin(self) -> None:
        """Have it ask from now on."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")

    async def end(self) -> Lateness:
        """Ask no more, and return what was found."""
        printed, _ = await self._process.communicate(b"")
        found = json.loads(printed)
        return Lateness(quantile(found["idle"], 0.99), quantile(found["answered"], 0.99))


async def _probe(url: str) -> dict[str, list[float]]:
    place = Place.of(url)
    connection = await Connection.open(place)
    request = place.head("GET", {}) + b"\r\n"
    idle: list[float] = []
    answered: list[float] = []
    await asyncio.to_thread(sys.stdin.readline)
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    while not ended.done():
        began = perf_counter()
        await asyncio.sleep(_EVERY_SECONDS)
        woken = perf_counter()
        idle.append(woken - began - _EVERY_SECONDS)
        answer = await connection.fetch(request)
        answered.append(perf_counter() - woken)
        assert answer.status == 200, answer
    connection.close()
    return {"idle": sorted(idle), "answered": sorted(answered)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_probe(sys.argv[1]))))
