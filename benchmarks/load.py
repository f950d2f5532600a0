"""The load generator: one process, many kept-alive connections, each answer checked.

Prints one JSON object: calls, calls_per_second, p50_ms, p99_ms, errors, and what was asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

import uvloop

from benchmarks.client import Client, Result, WrongAnswer, check_echo, result_of
from benchmarks.eras import ERAS
from benchmarks.processes import cpu_seconds, fetch
from benchmarks.wire import Answer, Lost

_PATIENCE_SECONDS = 30.0
_MOST_ERRORS = 20
_KINDS_SHOWN = 5


@dataclass(slots=True)
class Samples:
    """What was measured: how long answers took, in seconds, and how often which error came."""

    took: list[float] = field(default_factory=list)
    following: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    tools: int = 0

    @property
    def has_failed(self) -> bool:
        """Tell whether there were so many errors that going on is of no use."""
        return self.errors.total() >= _MOST_ERRORS


Job = Callable[[float, Samples], Awaitable[None]]


class Caller:
    """Calls a tool again and again, by callbacks alone, since this is the hot path."""

    def __init__(self, client: Client, tool: str, size: int) -> None:
        """Call `tool` for results of `size` bytes; 0 means as long as the text."""
        self._client = client
        self._call = client.calls(tool, size)
        self._size = size

    async def work(self, until: float, samples: Samples) -> None:
        """Call until the clock says so, and wait for the last answer."""
        self._until, self._samples = until, samples
        self._end = asyncio.get_running_loop().create_future()
        self._send()
        await self._end

    def _send(self) -> None:
        # A text of its own for each call shows answers that went to the wrong caller.
        self._text = f"{id(self):x}-{self._client.last_id:08d}"
        request = self._call(self._text)
        self._sent = perf_counter()
        self._client.connection.send(request, self._answered)

    def _answered(self, answer: Answer) -> None:
        now = perf_counter()
        samples = self._samples
        try:
            check_echo(result_of(answer, self._client.last_id), self._text, self._size)
            samples.took.append(now - self._sent)
        except WrongAnswer as error:
            samples.errors[str(error)] += 1
        if now < self._until and answer.status and not samples.has_failed:
            self._send()
        elif not self._end.done():
            self._end.set_result(None)


async def greet(client: Client, until: float, samples: Samples) -> None:
    """Measure initialize, or server/discover; what else a session needs is not measured."""
    while perf_counter() < until:
        await client.end()
        started = perf_counter()
        await client.greet()
        samples.took.append(perf_counter() - started)
        await client.confirm()


async def list_tools(client: Client, until: float, samples: Samples) -> None:
    """Measure the first pages of tools/list, and apart from them those that follow."""
    while perf_counter() < until:
        page = await _list_page(client, {}, samples.took)
        names = {tool.name for tool in page.tools}
        while page.next_cursor is not None:
            page = await _list_page(client, {"cursor": page.next_cursor}, samples.following)
            names.update(tool.name for tool in page.tools)
        samples.tools = len(names)


async def _list_page(client: Client, params: dict[str, object], took: list[float]) -> Result:
    request = client.request("tools/list", params)
    started = perf_counter()
    answer = await client.connection.fetch(request)
    took.append(perf_counter() - started)
    return result_of(answer, client.last_id)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does: which work, on how many connections, for how long, and what it watches."""

    mode: str
    url: str
    era: str
    connections: int
    seconds: float
    warm_seconds: float
    tool: str
    size: int
    pid: int | None
    stats: str | None


def _job(plan: Plan, client: Client) -> Job:
    match plan.mode:
        case "init":
            return partial(greet, client)
        case "list":
            return partial(list_tools, client)
    return Caller(client, plan.tool, plan.size).work


async def measure(plan: Plan) -> dict[str, object]:
    """Do the work of a plan and return what was measured."""
    clients = [await Client.connect(plan.url, plan.era) for _ in range(plan.connections)]
    try:
        for client in clients:
            await client.open()
        jobs = [_job(plan, client) for client in clients]
        await _work(jobs, plan.warm_seconds)
        cpu, requests = await _counters(plan)
        started = perf_counter()
        samples = await _work(jobs, plan.seconds)
        seconds = perf_counter() - started
        cpu_after, requests_after = await _counters(plan)
        for client in clients:
            await client.end()
    finally:
        for client in clients:
            client.connection.close()
    found = _summary(samples, seconds)
    spent = None if cpu is None or cpu_after is None else cpu_after - cpu
    calls = len(samples.took) + len(samples.following) or 1
    found["cpu_ms_per_call"] = None if spent is None else spent * 1000 / calls
    found["requests_per_call"] = (requests_after - requests) / calls if plan.stats else None
    return found


async def _work(jobs: Sequence[Job], seconds: float) -> Samples:
    samples = Samples()
    until = perf_counter() + seconds
    try:
        async with asyncio.timeout(seconds + _PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
            for job in jobs:
                tasks.create_task(_guarded(job, until, samples))
    except TimeoutError:
        samples.errors[f"no answer within {_PATIENCE_SECONDS:.0f} s"] += 1
    return samples


async def _guarded(job: Job, until: float, samples: Samples) -> None:
    try:
        await job(until, samples)
    except (WrongAnswer, Lost) as error:
        samples.errors[str(error)] += 1


async def _counters(plan: Plan) -> tuple[float | None, int]:
    requests = 0
    if plan.stats is not None:
        requests = sum(json.loads((await fetch(plan.stats)).body).values())
    return None if plan.pid is None else cpu_seconds(plan.pid), requests


def _summary(samples: Samples, seconds: float) -> dict[str, object]:
    found: dict[str, object] = {
        "calls": len(samples.took),
        "calls_per_second": len(samples.took) / seconds,
        "p50_ms": quantile_ms(samples.took, 0.50),
        "p99_ms": quantile_ms(samples.took, 0.99),
        "errors": samples.errors.total(),
        "error_kinds": dict(samples.errors.most_common(_KINDS_SHOWN)),
    }
    if samples.tools:
        found["tools"] = samples.tools
        found["following_p50_ms"] = quantile_ms(samples.following, 0.50)
    return found


def quantile_ms(seconds: Sequence[float], share: float) -> float | None:
    """Return the time below which `share` of the samples lie; None without samples."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


def _plan() -> Plan:
    parser = argparse.ArgumentParser(prog="benchmarks.load", description=__doc__)
    parser.add_argument("--mode", choices=["call", "init", "list"], default="call")
    parser.add_argument("--url", required=True, help="the MCP endpoint")
    parser.add_argument("--era", choices=ERAS, default=ERAS[0])
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--warm-seconds", type=float, default=0.3, help="before measuring")
    parser.add_argument("--tool", default="echo")
    parser.add_argument("--size", type=int, default=0, help="bytes of each result")
    parser.add_argument("--pid", type=int, help="the process whose CPU time counts")
    parser.add_argument("--stats", help="where the backend tells its counts of requests")
    return Plan(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(uvloop.run(measure(_plan()))) + "\n")
