"""What many clients cost at once: idle sessions, open streams, sessions that come and go, parked calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

from benchmarks.cases import Gateway, echo, gateway
from benchmarks.client import Client, Result, WrongAnswer, check_echo
from benchmarks.eras import SESSIONED, STATELESS
from benchmarks.grid import Settings
from benchmarks.load import quantile_ms
from benchmarks.processes import cpu_seconds, resident_bytes
from benchmarks.rows import Found, Row, row
from benchmarks.targets import Verdict, count_verdict, memory_verdict

IDLE, STREAMS, CYCLES, PARKED = 10_000, 1_000, 50_000, 1_000
_CONNECTIONS = 16
_WARM_SESSIONS = 400
_SETTLE_SECONDS = 1.0
_LONGEST_SECONDS = 300.0
_KB = 1000.0
_TOOL = "echo_echo"

T = TypeVar("T")
Outcome = tuple[list[Row], list[Verdict]]


async def many_sessions(settings: Settings, say: Callable[[str], None]) -> Outcome:
    """Measure them one after the other, each in a gateway of its own."""
    rows: list[Row] = []
    verdicts: list[Verdict] = []
    for measure in (_idle, _streams, _cycles, _parked):
        async with asyncio.timeout(_LONGEST_SECONDS), _front() as front:
            found, judged = await measure(front, settings.share, say)
        rows += found
        verdicts += judged
    return rows, verdicts


@asynccontextmanager
async def _front() -> AsyncIterator[Gateway]:
    """Run a gateway in front of a sessioned backend; what it needs for its first clients is there."""
    async with (
        echo("--eras", SESSIONED) as (site, _),
        gateway([{"name": "echo", "url": f"{site}/mcp"}]) as front,
    ):
        async with _clients(front, _CONNECTIONS) as clients:
            await _each(clients, _WARM_SESSIONS, _cycle)
        yield front


@asynccontextmanager
async def _clients(
    front: Gateway, count: int, era: str = SESSIONED, *declared: str
) -> AsyncIterator[list[Client]]:
    """Give clients whose connections are open; their sessions are their own business."""
    clients = [await Client.connect(front.url, era, *declared) for _ in range(count)]
    try:
        yield clients
    finally:
        for client in clients:
            client.connection.close()


async def _cycle(client: Client) -> None:
    await client.open()
    await client.end()


async def _each(
    workers: Iterable[T], count: int, act: Callable[[T], Awaitable[None]]
) -> list[float]:
    """Do something `count` times, with all workers at once; return how long each time took."""
    left = iter(range(count))
    took: list[float] = []

    async def work(worker: T) -> None:
        for _ in left:
            started = perf_counter()
            await act(worker)
            took.append(perf_counter() - started)

    async with asyncio.TaskGroup() as tasks:
        for worker in workers:
            tasks.create_task(work(worker))
    return took


@dataclass(slots=True)
class _Watch:
    """What a stretch of work took: its time, the gateway's processor time, and the memory it grew by."""

    front: Gateway
    memory: float
    cpu: float | None
    started: float

    @classmethod
    async def begin(cls, front: Gateway) -> _Watch:
        """Begin once what went before has settled."""
        memory = await _settled(front)
        return cls(front, memory, cpu_seconds(front.pid), perf_counter())

    def found(self, took: Sequence[float]) -> Found:
        """Return what a row shows of the work, whose steps took so long."""
        seconds, cpu = perf_counter() - self.started, cpu_seconds(self.front.pid)
        spent = None if cpu is None or self.cpu is None else cpu - self.cpu
        return {
            "calls_per_second": len(took) / seconds,
            "p50_ms": quantile_ms(took, 0.50),
            "p99_ms": quantile_ms(took, 0.99),
            "cpu_ms_per_call": None if spent is None else spent * 1000 / len(took),
        }

    async def grown(self) -> float:
        """Return by how many bytes the memory has grown once everything has settled."""
        return await _settled(self.front) - self.memory


async def _settled(front: Gateway) -> float:
    await asyncio.sleep(_SETTLE_SECONDS)
    return resident_bytes(front.pid)


async def _idle(front: Gateway, share: float, say: Callable[[str], None]) -> Outcome:
    count = int(IDLE * share)
    say(f"{count} idle sessions")
    watch = await _Watch.begin(front)
    ids: list[str] = []

    async def leave_open(client: Client) -> None:
        await client.open()
        ids.append(client.headers["mcp-session-id"])

    async def end(client: Client) -> None:
        client.headers["mcp-session-id"] = ids.pop()
        await client.end()

    async with _clients(front, _CONNECTIONS) as clients:
        found = watch.found(await _each(clients, count, leave_open))
        grown = await watch.grown()
        await _each(clients, count, end)
        await _each(clients, count, leave_open)
        again = await watch.grown() - grown
    return [row("gateway-sessions-idle", SESSIONED, _CONNECTIONS, [found])], [
        memory_verdict("memory of an idle session", grown / count / _KB, 6, "KB"),
        memory_verdict("more for as many after all have ended", again / count / _KB, 0.6, "KB"),
    ]


async def _streams(front: Gateway, share: float, say: Callable[[str], None]) -> Outcome:
    count = int(STREAMS * share)
    say(f"{count} sessions with a stream")
    watch = await _Watch.begin(front)

    async def listen(client: Client) -> None:
        await client.open()
        await client.listen()

    async with _clients(front, count) as clients:
        left = iter(clients)
        took = await _each(range(_CONNECTIONS), count, lambda _: listen(next(left)))
        found, grown = watch.found(took), await watch.grown()
    claim = "memory of a session with a stream"
    return [row("gateway-sessions-streams", SESSIONED, count, [found])], [
        memory_verdict(claim, grown / count / _KB, 30, "KB")
    ]


async def _cycles(front: Gateway, share: float, say: Callable[[str], None]) -> Outcome:
    count = int(CYCLES * share)
    say(f"{count} sessions that come and go")
    watch = await _Watch.begin(front)
    async with _clients(front, _CONNECTIONS) as clients:
        found = watch.found(await _each(clients, count, _cycle))
    grown = await watch.grown()
    return [row("gateway-sessions-cycles", SESSIONED, _CONNECTIONS, [found])], [
        memory_verdict(f"memory kept after {count} sessions", grown / _KB / _KB, 5, "MB")
    ]


async def _parked(front: Gateway, share: float, say: Callable[[str], None]) -> Outcome:
    """Park calls of stateless clients, all at once, then resume and check each."""
    count = int(PARKED * share)
    say(f"{count} parked calls")
    calls = [_Parked(f"parked {number:05}") for number in range(count)]
    async with _clients(front, _CONNECTIONS, STATELESS, "elicitation") as clients:
        watch = await _Watch.begin(front)
        left = iter(calls)
        parked = watch.found(await _each(clients, count, lambda client: next(left).park(client)))
        grown = await watch.grown()
        watch, again = await _Watch.begin(front), iter(calls)
        resumed = watch.found(
            await _each(clients, count, lambda client: next(again).resume(client))
        )
    answered = sum(call.is_answered for call in calls)
    return [
        row("gateway-parked", STATELESS, _CONNECTIONS, [parked]),
        row("gateway-resumed", STATELESS, _CONNECTIONS, [resumed]),
    ], [
        count_verdict(f"answers to {count} calls that were all parked", answered, count),
        memory_verdict("memory of a parked call", grown / count / _KB, 60, "KB"),
    ]


class _Parked:
    """One call that asks before it answers."""

    def __init__(self, text: str) -> None:
        self.is_answered = False
        self._text = text
        self._asked = Result()

    async def park(self, client: Client) -> None:
        """Call, and keep what is asked."""
        self._asked = await client.ask("tools/call", self._params(), _TOOL)
        if not self._asked.asked or not self._asked.state:
            raise WrongAnswer("the call was not parked")

    async def resume(self, client: Client) -> None:
        """Answer what was asked, and check the result."""
        answers = {name: {"action": "accept", "content": {}} for name in self._asked.asked}
        params = self._params() | {"inputResponses": answers, "requestState": self._asked.state}
        check_echo(await client.ask("tools/call", params, _TOOL), self._text, 0)
        self.is_answered = True

    def _params(self) -> dict[str, object]:
        return {"name": _TOOL, "arguments": {"text": self._text, "ask": True}}
