"""How long the gateway takes from its start until it answers, beside a Python that does nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.grid import Settings
from benchmarks.processes import free_port, is_ok, output_of, python, running
from benchmarks.rows import Row, row
from benchmarks.targets import Verdict, time_verdict

_ROUNDS = 5
_SECONDS = 60.0
_TARGET_MS = 1000.0
# On a laptop, where a bare Python takes 15 to 25 ms, this is less than a second.
_TARGET_TIMES, _FLOOR_TIMES = 30.0, 45.0
# It never says anything: who waits for backends would not answer.
_SILENT = {"name": "silent", "stdio": {"command": "sleep", "args": ["600"]}}


async def start_up(
    _settings: Settings, say: Callable[[str], None]
) -> tuple[list[Row], list[Verdict]]:
    """Measure both in turns; the shortest of each counts, since other work only adds."""
    say("starting the gateway, again and again")
    # An installed package has its byte code.
    await output_of((sys.executable, "-m", "compileall", "-q", "vmcp"), seconds=_SECONDS)
    bare: list[float] = []
    served: list[float] = []
    for _ in range(_ROUNDS):
        bare.append(await _bare_ms())
        served.append(await _served_ms())
    rows = [
        row("start-up-python", "both", 0, [{"p50_ms": each} for each in bare]),
        row("start-up", "both", 0, [{"p50_ms": each} for each in served]),
    ]
    return rows, list(verdicts(min(bare), min(served)))


def verdicts(bare_ms: float, served_ms: float) -> tuple[Verdict, Verdict]:
    """Judge the time to the first answer, by itself and beside a bare Python's."""
    times = served_ms / bare_ms
    claim = "first answer of /health after the start"
    return (
        time_verdict(claim, served_ms, _TARGET_MS),
        Verdict(f"{claim}, times a bare Python's", times, _TARGET_TIMES, _FLOOR_TIMES),
    )


async def _bare_ms() -> float:
    started = perf_counter()
    await output_of((sys.executable, "-c", "pass"), seconds=_SECONDS)
    return (perf_counter() - started) * 1000


async def _served_ms() -> float:
    port = free_port()
    settings = {"backends": [_SILENT], "server": {"port": port, "opsPort": 0}}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "vmcp.yaml"
        file.write_text(json.dumps(settings))
        started = perf_counter()
        command = python("vmcp", "serve", "-c", file)
        async with running(command, is_ready=lambda: is_ok(f"http://127.0.0.1:{port}/health")):
            return (perf_counter() - started) * 1000
