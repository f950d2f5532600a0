"""`make soak`: one gateway, many backends, mixed traffic, and much that goes wrong; nothing may be lost or grow.

SOAK_SECONDS says how long. The exit code is 0 only where every claim of the table holds.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import aiohttp
import yaml

from benchmarks.processes import is_ok, running
from tests.soak.fleet import LOWER, Ship, fleet
from tests.soak.gauges import Lateness, Prober, Sample, look, middle
from tests.soak.traffic import Tally, Traffic
from tests.support.ports import lasting_port

DEFAULT_SECONDS = 600.0
CROWD = 1
_KILL_SECONDS, _RELOAD_SECONDS, _LOOK_SECONDS = 3.0, 2.0, 0.25
_AWAY_SECONDS = 1.0
_BACK_SECONDS = 90.0
# Longer than an unused connection to a backend is kept.
_SETTLE_SECONDS = 15.0
_WELL = frozenset(("healthy",))
# Sessions that were left are kept for half an hour, so some growth is due.
_GROWN_BYTES = 12 * 2**20
_SESSION_BYTES = 12 * 2**10
_MORE_FILES = _MORE_TASKS = 8
_LATE_SECONDS = 0.050


@dataclass(slots=True)
class Found:
    """What a soak has found."""

    tally: Tally = field(default_factory=Tally)
    kills: int = 0
    reloads: int = 0
    samples: list[Sample] = field(default_factory=list)
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    files_before: int = 0
    files_after: int = 0
    lateness: Lateness = field(default_factory=lambda: Lateness(0.0, 0.0))
    code: int = -1


class Soak:
    """One run of so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.found = Found()
        self._seconds = seconds
        self._ships = fleet()
        self._port, self._ops_port = lasting_port(), lasting_port()
        self._url = f"http://127.0.0.1:{self._port}"
        self._pid = 0
        self._is_over = False

    async def run(self, started: Callable[[], object]) -> Found:
        """Do all of it; `started` is called when the gateway runs, before there are clients."""
        async with AsyncExitStack() as stack:
            for ship in self._ships:
                stack.push_async_callback(ship.stop)
            async with asyncio.TaskGroup() as tasks:
                for ship in self._ships:
                    tasks.create_task(ship.start())
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="vmcp-soak-"))
            config = Path(folder) / "vmcp.yaml"
            self._write(config, 0)
            command = (sys.executable, "-m", "vmcp", "serve", "--config", str(config))
            ready = f"{self._url}/readyz"
            self._pid = await stack.enter_async_context(
                running(command, is_ready=lambda: is_ok(ready))
            )
            prober = await Prober.start(f"{self._url}/health")
            started()
            await self._measured(config, prober)
        return self.found

    def _write(self, path: Path, number: int) -> None:
        """Write the config: a tool is described anew each time, and one backend comes and goes."""
        entries = [dict(ship.entry()) for ship in self._ships]
        if number % 2:
            entries.append({**self._ships[1].entry(), "name": "sometimes"})
        config = {
            "backends": entries,
            "aggregation": {
                "tools": [
                    {
                        "workload": self._ships[0].name,
                        "overrides": {"echo": {"description": f"Number {number}."}},
                    }
                ]
            },
            "server": {"port": self._port, "opsPort": self._ops_port},
        }
        whole = path.with_suffix(".new")
        whole.write_text(yaml.safe_dump(config))
        whole.replace(path)

    async def _measured(self, config: Path, prober: Prober) -> None:
        warm = min(30.0, self._seconds / 4)
        await self._traffic(config, warm)
        await self._settled()
        self.found.before = await self._metrics()
        self.found.files_before = look(self._pid, 0.0).files
        prober.begin()
        looking = asyncio.get_running_loop().create_task(self._look())
        await self._traffic(config, self._seconds - warm)
        self.found.lateness = await prober.end()
        self._is_over = True
        await looking
        await self._settled()
        self.found.after = await self._metrics()
        self.found.files_after = look(self._pid, self._seconds).files

    async def _settled(self) -> None:
        """Wait until all backends are there and nobody does anything."""
        for ship in self._ships:
            await self._bring_back(ship)
        await asyncio.sleep(_SETTLE_SECONDS)

    async def _traffic(self, config: Path, seconds: float) -> None:
        traffic = Traffic(f"{self._url}/mcp", self._ships)
        traffic.tally = self.found.tally
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(traffic.run(CROWD))
            troubles = [
                tasks.create_task(self._kill_and_restart()),
                tasks.create_task(self._reload(config)),
            ]
            await asyncio.sleep(seconds)
            traffic.stop()
            for trouble in troubles:
                trouble.cancel()

    async def _kill_and_restart(self) -> None:
        mortal = [ship for ship in self._ships if ship.is_mortal]
        while True:
            await asyncio.sleep(random.uniform(0.5, 1.5) * _KILL_SECONDS)
            ship = random.choice(mortal)
            await ship.kill(self._pid)
            self.found.kills += 1
            await asyncio.sleep(random.uniform(0, _AWAY_SECONDS))
            await self._bring_back(ship)

    async def _bring_back(self, ship: Ship) -> None:
        """Start a backend that is away, and wait until the gateway has it back."""
        if not ship.away or ship.away[-1][1] != float("inf"):
            return
        if ship.process is None or ship.process.returncode is not None:
            await ship.start()
        async with asyncio.timeout(_BACK_SECONDS):
            await asyncio.sleep(_LOOK_SECONDS)
            while not await self._is_well(ship):  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(_LOOK_SECONDS)
        ship.is_back()

    async def _is_well(self, ship: Ship) -> bool:
        shown = await self._status()
        states = {each["name"]: each["state"] for each in shown["backends"]}
        return states.get(ship.name) in _WELL

    async def _status(self) -> dict[str, list[dict[str, str]]]:
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"http://127.0.0.1:{self._ops_port}/status") as answer,
        ):
            shown: dict[str, list[dict[str, str]]] = await answer.json()
            return shown

    async def _reload(self, config: Path) -> None:
        number = 0
        while True:
            await asyncio.sleep(random.uniform(0.5, 1.5) * _RELOAD_SECONDS)
            number += 1
            self._write(config, number)
            os.kill(self._pid, signal.SIGHUP)
            self.found.reloads += 1

    async def _look(self) -> None:
        began = perf_counter()
        while not self._is_over:
            self.found.samples.append(look(self._pid, perf_counter() - began))
            await asyncio.sleep(_LOOK_SECONDS)

    async def _metrics(self) -> dict[str, float]:
        """Return the metrics without labels."""
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"http://127.0.0.1:{self._ops_port}/metrics") as answer,
        ):
            lines = (await answer.text()).splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs if "{" not in name}


@dataclass(frozen=True, slots=True)
class Claim:
    """One line of the table."""

    what: str
    found: str
    wanted: str
    holds: bool


def claims(found: Found) -> list[Claim]:
    """Return what must hold, and whether it does."""
    tally = found.tally
    left = tally.done["sessions left"]
    answers = sum(tally.done.values()) - tally.done["faults"] - left
    faults = tally.done["faults"]
    return [
        Claim("right answers", f"{answers}", "> 0", answers > 0),
        Claim("wrong or lost answers", f"{faults}", "0", faults == 0),
        _flat(found.samples, left),
        _files(found),
        _same(found, "vmcp_requests_in_flight", 0),
        _same(found, "vmcp_calls_parked", 0),
        _same(found, "vmcp_event_loop_tasks", _MORE_TASKS),
        _late(found.lateness),
    ]


def _flat(samples: Sequence[Sample], sessions: int) -> Claim:
    """Compare the memory of the last quarter with that of the first one."""
    quarter = max(1, len(samples) // 4)
    first, last = samples[:quarter], samples[-quarter:]
    memory = middle([each.resident_bytes for each in last]) - middle(
        [each.resident_bytes for each in first]
    )
    due = _GROWN_BYTES + sessions * _SESSION_BYTES
    return Claim(
        "memory, last quarter against first",
        f"{memory / 2**20:+.1f} MiB",
        f"<= {due / 2**20:.0f} MiB",
        memory <= due,
    )


def _files(found: Found) -> Claim:
    """Compare what is open when all have left: how many are open under load depends on how busy the machine is."""
    most = found.files_before + _MORE_FILES
    return Claim(
        "open files when all have left",
        f"{found.files_after}",
        f"<= {most}",
        found.files_after <= most,
    )


def _same(found: Found, metric: str, more: int) -> Claim:
    before, after = found.before.get(metric, 0), found.after.get(metric, 0)
    return Claim(
        f"{metric} when all have left",
        f"{after:.0f}",
        f"<= {before + more:.0f}",
        after <= before + more,
    )


def _late(lateness: Lateness) -> Claim:
    found = (
        f"{lateness.more * 1000:.1f} ms (idle {lateness.idle * 1000:.1f}, "
        f"gateway {lateness.answered * 1000:.1f})"
    )
    return Claim(
        "event loop p99 above an idle loop",
        found,
        f"<= {_LATE_SECONDS * 1000:.0f} ms",
        lateness.more <= _LATE_SECONDS,
    )


def shown(found: Found, seconds: float) -> str:
    """Return the table."""
    tally = found.tally
    lines = [f"soak of {seconds:.0f} s: {found.kills} backends killed, {found.reloads} reloads", ""]
    lines += [f"  {what:<14} {count:>8}" for what, count in sorted(tally.done.items())]
    lines += [
        f"  {'excused':<14} {sum(tally.excused.values()):>8}  (at backends that were away)",
        "",
    ]
    for each in claims(found):
        mark = "ok  " if each.holds else "FAIL"
        lines.append(f"  {mark} {each.what:<42} {each.found:<44} {each.wanted}")
    lines += ["", *(f"  fault: {fault}" for fault in tally.faults)]
    return "\n".join(lines)


async def main() -> int:
    """Soak, print the table, and return the exit code."""
    seconds = float(os.environ.get("SOAK_SECONDS", DEFAULT_SECONDS))  # noqa: TID251 (a command)
    # The clients, which are this process, leave the processor to what is measured.
    found = await Soak(seconds).run(lambda: os.nice(LOWER))
    sys.stdout.write(shown(found, seconds) + "\n")
    return 0 if all(claim.holds for claim in claims(found)) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
