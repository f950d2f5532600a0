"""What `vmcp doctor` does: all checkups at once, each bounded in time, told in a stable order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from vmcp.cli import configuration, output
from vmcp.cli.checking import configured
from vmcp.cli.checkups import gateway, http, machine, stdio
from vmcp.cli.checkups.hints import HINTS
from vmcp.cli.checkups.steps import Course, Outcome, Step, bounded
from vmcp.cli.output import TextFormat
from vmcp.cli.stop import ExitCode, Stop
from vmcp.clock import SystemClock
from vmcp.config.faults import near
from vmcp.config.load import Loaded, Sources, load_all
from vmcp.discovery.static import contribution
from vmcp.model.backend import Backend, HttpEndpoint, StdioEndpoint
from vmcp.model.problem import Problem
from vmcp.net.proxies import Proxies, proxies

# Each of them takes some connections, or a process.
_MOST_AT_ONCE = 16
_MARKS = {Outcome.OK: "ok", Outcome.WARNING: "WARN", Outcome.FAILED: "FAIL"}


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was found of one thing; `stderr` holds the last lines of a backend whose checkup failed."""

    name: str
    place: str
    steps: tuple[Step, ...]
    stderr: tuple[str, ...] = ()

    @property
    def is_ok(self) -> bool:
        """Whether nothing failed."""
        return all(step.outcome is not Outcome.FAILED for step in self.steps)


def examine(named: Sources, names: Sequence[str], seconds: float, printed: TextFormat) -> None:
    """Make all checkups and print them; raise Stop when something failed."""
    loaded = _loaded(named, printed)
    found = contribution(loaded)
    backends = _chosen(found.backends, names)
    own = [] if names else [_machine(loaded)]
    left_out = [_left_out(one) for one in found.problems if not names or one.key.name in names]
    checkups = [*own, *asyncio.run(_all(backends, seconds)), *left_out]
    if printed is TextFormat.JSON:
        output.emit_json({"checkups": [_facts(one) for one in checkups]})
    else:
        output.emit(output.visible("\n".join(line for one in checkups for line in _lines(one))))
    if failed := sum(not one.is_ok for one in checkups):
        raise Stop(f"{failed} of {len(checkups)} checkups failed.", ExitCode.FAILED)


def _loaded(named: Sources, printed: TextFormat) -> Loaded:
    if printed is TextFormat.JSON:
        return configuration.read_all_for_programs(named, load_all)
    return configuration.read_all(named, load_all)


def _chosen(backends: Sequence[Backend], names: Sequence[str]) -> Sequence[Backend]:
    known = [backend.name for backend in backends]
    for name in names:
        if name not in known:
            hint = near(name, known) or f"It has {', '.join(known)}."
            raise Stop(f"The config has no backend '{name}'. {hint}", ExitCode.USAGE)
    return [backend for backend in backends if not names or backend.name in names]


def _machine(loaded: Loaded) -> Checkup:
    running = tuple(gateway.examine(loaded.config.server))
    found = machine.examine(loaded, SystemClock().now(), is_running=bool(running))
    return Checkup("this machine", str(loaded.path), (*found, *running))


def _left_out(problem: Problem) -> Checkup:
    step = Step("config", Outcome.FAILED, problem.message, problem.reason)
    return Checkup(problem.key.name, "", (step,))


async def _all(backends: Sequence[Backend], seconds: float) -> Sequence[Checkup]:
    by_environment, turn = proxies(os.environ), asyncio.Semaphore(_MOST_AT_ONCE)
    with stdio.last_words() as words:
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(_one(backend, by_environment, seconds, turn))
                for backend in backends
            ]
        made = [(backend, task.result()) for backend, task in zip(backends, running, strict=True)]
    return [
        Checkup(
            backend.name,
            str(configured(backend)["place"]),
            steps,
            () if steps[-1].outcome is Outcome.OK else tuple(words.get(backend.name, ())),
        )
        for backend, steps in made
    ]


async def _one(
    backend: Backend, by_environment: Proxies, seconds: float, turn: asyncio.Semaphore
) -> tuple[Step, ...]:
    course, endpoint = Course(), backend.endpoint
    async with turn:
        match endpoint:
            case HttpEndpoint():
                work = http.examine(course, backend, endpoint, by_environment, SystemClock())
            case StdioEndpoint():
                work = stdio.examine(course, backend, endpoint, os.environ)
            case _:
                assert_never(endpoint)
        return await bounded(course, work, seconds)


def _facts(one: Checkup) -> Mapping[str, object]:
    return {
        "name": one.name,
        "place": one.place,
        "ok": one.is_ok,
        "steps": [_step(step) for step in one.steps],
        **({"stderr": list(one.stderr)} if one.stderr else {}),
    }


def _step(step: Step) -> Mapping[str, object]:
    found: dict[str, object] = {
        "step": step.name,
        "outcome": step.outcome.value,
        "milliseconds": step.milliseconds,
        "detail": step.detail,
    }
    if step.cause is not None:
        found.update(cause=step.cause, hint=HINTS.get(step.cause))
    return found


def _lines(one: Checkup) -> Iterator[str]:
    yield f"{one.name}  {one.place}".rstrip()
    for step in one.steps:
        time = "" if step.milliseconds is None else f"{step.milliseconds:.0f} ms"
        yield f"  {_MARKS[step.outcome]:4}  {step.name:15} {time:>8}  {step.detail}"
        if step.cause is not None and (hint := HINTS.get(step.cause)) is not None:
            yield f"        -> {hint}"
    for line in one.stderr:
        yield f"        stderr: {line}"
