"""All lines of the matrix at once, in front of one `vmcp serve`, beside backends that must notice nothing."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp
import yaml

from tests.failures import troubles
from tests.failures.cases import (
    CALL_SECONDS,
    FAILING,
    GREETING,
    TIMEOUT,
    Back,
    Case,
    Fails,
    Missing,
    Served,
    Since,
    Told,
)
from tests.failures.sites import ChildSite, ProcessSite, Site
from tests.support.clients import Answer, Client, sessioned, stateless, words
from tests.support.servers import Gateway, in_thread, run_gateway
from tests.support.waiting import until

Json = dict[str, Any]
Cell = tuple[Case, Back]

# What others do at the same time on the machine of a test.
SLACK_SECONDS = 10.0
HEALED_SECONDS = 40.0
BYSTANDER_SECONDS = 5.0
GROWN_BYTES = 160 * 2**20
_LOOK_SECONDS = 0.05
_FAILING = ("degraded", "unhealthy")
_CHECKS = {
    "healthCheckInterval": "1s",
    "healthCheckTimeout": "4500ms",
    "unhealthyThreshold": 5,
}
# Who notices a loss last tells of it, be it a check or a call that was under way. A check that loses its
# connection has one opened.
_STAGES = {
    GREETING: ("discover", "initialize"),
    "stream": ("stream", "probe", "call"),
    "probe": ("probe", "discover", "initialize"),
}
# So many troubles that last no time of their own, lest all of them wait for the processor.
_AT_A_TIME = 12
_BYSTANDERS = {
    "good-sessioned": lambda: ProcessSite("sessioned", 9),
    "good-stateless": lambda: ProcessSite("stateless", 9),
    "good-child": lambda: ChildSite("stateless", ""),
}


class Bystander:
    """Calls healthy backends again and again, each call with words of its own."""

    def __init__(self) -> None:
        self.took: list[float] = []
        self.wrong: list[str] = []
        self._numbers = itertools.count()

    async def run(self, clients: Iterable[Client]) -> None:
        """Call until cancelled."""
        tools = [f"{name}_echo" for name in _BYSTANDERS]
        for client, tool in itertools.cycle(itertools.product(tuple(clients), tools)):
            await self._call(client, tool)
            await asyncio.sleep(0.01)

    async def _call(self, client: Client, tool: str) -> None:
        mark = f"words {next(self._numbers)}"
        began = perf_counter()
        try:
            found = words(await client.ask("tools/call", called(tool, mark)))
        except (AssertionError, OSError, TimeoutError, aiohttp.ClientError) as error:
            self.wrong.append(f"{tool}: {error!r}")
            return
        self.took.append(perf_counter() - began)
        if json.loads(found) != {"text": mark}:
            self.wrong.append(f"{tool}: {found} is not {mark}")


def called(tool: str, mark: str) -> Json:
    """Return the params of a call with words of its own."""
    return {"name": tool, "arguments": {"text": mark}}


class Campaign:
    """Run the cells that are wanted; the outcome of each is there for its test."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._sites = {name_of(cell): (cell, cell[0].make(cell[1].era)) for cell in cells}
        self._outcomes: dict[str, asyncio.Future[None]] = {}
        self._clients: tuple[Client, ...] = ()
        self._shown: dict[str, Json] = {}
        self._large = asyncio.Lock()
        self._few = asyncio.Semaphore(_AT_A_TIME)
        self.bystander = Bystander()
        self.ready = asyncio.Event()
        self.done = asyncio.Event()
        self.grown_bytes: dict[str, int] = {}
        self.pid = 0

    async def run(self) -> None:
        """Run until `done` is set; `ready` is set once everything is under way."""
        loop = asyncio.get_running_loop()
        self._outcomes = {name: loop.create_future() for name in self._sites}
        try:
            await asyncio.to_thread(troubles.prepare)
            async with AsyncExitStack() as stack:
                bystanders = {name: make() for name, make in _BYSTANDERS.items()}
                await self._start(stack, bystanders)
                config = yaml.safe_dump(self._config(bystanders))
                gateway = await stack.enter_async_context(in_thread(run_gateway(config)))
                self._clients = (
                    await stack.enter_async_context(sessioned(gateway.url)),
                    await stack.enter_async_context(stateless(gateway.url)),
                )
                await self._watched(gateway)
        finally:
            self.ready.set()

    async def _start(self, stack: AsyncExitStack, bystanders: dict[str, Site]) -> None:
        """Have sites up as they are to be when the gateway meets them."""
        async with asyncio.TaskGroup() as tasks:
            for site in bystanders.values():
                stack.push_async_callback(site.stop)
                tasks.create_task(site.start())
            for (case, _), site in self._sites.values():
                stack.push_async_callback(site.stop)
                is_bad = case.since is Since.START
                tasks.create_task(site.begin() if is_bad else site.start())

    def _config(self, bystanders: dict[str, Site]) -> Json:
        entries = [{"name": name, **site.entry()} for name, site in bystanders.items()]
        entries += [{"name": name, **site.entry()} for name, (_, site) in self._sites.items()]
        hanging = [name for name, (cell, _) in self._sites.items() if _hangs(cell[0])]
        short = {"perWorkload": dict.fromkeys(hanging, f"{CALL_SECONDS}s")} if hanging else {}
        timeouts = {"default": "10s", **short}
        return {
            "backends": entries,
            "operational": {"timeouts": timeouts, "failureHandling": _CHECKS},
        }

    async def _watched(self, gateway: Gateway) -> None:
        self.pid = gateway.process.pid
        async with aiohttp.ClientSession() as http, asyncio.TaskGroup() as tasks:
            works = [
                tasks.create_task(self._look(http, f"{gateway.ops_url}/status")),
                tasks.create_task(self.bystander.run(self._clients)),
                *(tasks.create_task(self._cell(name)) for name in self._sites),
            ]
            self.ready.set()
            await self.done.wait()
            for work in works:
                work.cancel()

    async def _look(self, http: aiohttp.ClientSession, url: str) -> None:
        while True:
            async with http.get(url) as answer:
                shown = await answer.json()
            self._shown = {each["name"]: each for each in shown["backends"]}
            await asyncio.sleep(_LOOK_SECONDS)

    async def _cell(self, name: str) -> None:
        (case, _), site = self._sites[name]
        outcome = self._outcomes[name]
        try:
            if case.is_large and case.since is Since.LATER:
                async with self._large:
                    before = resident(self.pid)
                    await self._live(name, case, site)
                    self.grown_bytes[name] = peak(self.pid) - before
            elif case.since is Since.LATER:
                async with self._few:
                    await self._live(name, case, site)
            else:
                await self._live(name, case, site)
        except Exception as error:  # noqa: BLE001 (its test fails with it)
            outcome.set_exception(error)
            # Where no test asks for it, because the first one has failed, nobody need hear of it.
            outcome.exception()
        else:
            outcome.set_result(None)

    async def outcome(self, cell: Cell) -> None:
        """Raise what went wrong in a cell."""
        await self._outcomes[name_of(cell)]

    # One line of the table, from its beginning to its end.

    async def _live(self, name: str, case: Case, site: Site) -> None:
        if not isinstance(case.sees, Missing):
            await self._answers(name)
        if case.since is Since.LATER:
            await site.begin()
            # Once it has answered something else, the gateway has heard of connections that were closed before.
            await self._clients[0].tools()
        if isinstance(case.sees, Served):
            await self._tells(name, Told("healthy"), HEALED_SECONDS)
            # Where it was unhealthy for a moment, its tools are back once the catalog has been built.
            for client in self._clients:
                await _eventually(lambda each=client: self._is_listed(each, name))  # type: ignore[misc]
        if isinstance(case.sees, Missing):
            await self._tells(name, case.told)
            await self._is_missing(name)
        elif case.told.stage == "call":
            await self._sees_and_tells(name, case, site)
        else:
            await self._sees(name, case, site)
            await self._tells(name, case.told)
        await site.end()
        await self._answers(name)
        await self._tells(name, Told("healthy"), HEALED_SECONDS)

    async def _sees(self, name: str, case: Case, site: Site) -> None:
        began = perf_counter()
        if case.struck is None:
            async with asyncio.TaskGroup() as tasks:
                calls = [tasks.create_task(self._call(each, name)) for each in self._clients]
            ends = [call.result() for call in calls]
        else:
            answers = [await self._begun(each, f"{name}_{case.struck}") for each in self._clients]
            began = perf_counter()
            await site.strike()
            ends = [await answer.end() for answer in answers]
        took = perf_counter() - began
        for end in ends:
            _check(end, name, case.sees)
        assert not isinstance(case.sees, Missing)
        assert took < case.sees.within.seconds + SLACK_SECONDS, f"it took {took:.1f} s"

    async def _sees_and_tells(self, name: str, case: Case, site: Site) -> None:
        """Call until /status tells of a call: a check that fails after it is told of in its place."""
        async with asyncio.timeout(HEALED_SECONDS):
            await self._sees(name, case, site)
            while await self._is_hidden(name, case.told):
                await self._sees(name, case, site)

    async def _is_hidden(self, name: str, told: Told) -> bool:
        """Wait until /status says what it should, or tells of another failure than that of a call."""
        try:
            await self._tells(name, told)
        except AssertionError:
            last = self._shown.get(name, {}).get("lastFailure") or {}
            if last.get("stage") == told.stage:
                raise
            return True
        return False

    async def _begun(self, client: Client, tool: str) -> Answer:
        """Call, and return when the backend has told that it works on it."""
        params = {**called(tool, tool), "_meta": {"progressToken": tool}}
        answer = await client.request("tools/call", params)
        await answer.heard("notifications/progress")
        return answer

    async def _call(self, client: Client, name: str) -> Json:
        answer = await client.request("tools/call", called(f"{name}_echo", name))
        return await answer.end()

    async def _is_listed(self, client: Client, name: str) -> bool:
        return f"{name}_echo" in await client.tools()

    async def _is_missing(self, name: str) -> None:
        for client in self._clients:
            began = perf_counter()
            tools = await client.tools()
            assert perf_counter() - began < SLACK_SECONDS
            assert f"{name}_echo" not in tools
            assert {f"{each}_echo" for each in _BYSTANDERS} <= set(tools)

    async def _answers(self, name: str) -> None:
        """Wait until calls of all clients are answered."""
        for client in self._clients:
            await _eventually(lambda each=client: self._is_answered(each, name))  # type: ignore[misc]

    async def _is_answered(self, client: Client, name: str) -> bool:
        return "result" in await self._call(client, name)

    async def _tells(self, name: str, told: Told, seconds: float = SLACK_SECONDS) -> None:
        """Wait until /status says what it should of a backend."""
        seconds = max(seconds, told.within.seconds + SLACK_SECONDS)
        try:
            await until(lambda: _says(self._shown.get(name, {}), told), seconds)
        except AssertionError:
            raise AssertionError(f"{told} is not what is told: {self._shown.get(name)}") from None


def _hangs(case: Case) -> bool:
    return TIMEOUT in (case.sees.within, case.told.within)


def _says(shown: Json, told: Told) -> bool:
    last = shown.get("lastFailure") or {}
    stages = _STAGES.get(told.stage, (told.stage,))
    is_last = last.get("reason") == told.reason and last.get("stage") in stages
    if told.state == FAILING and is_last and shown.get("state") == "healthy":
        # It was failing, and has healed before anybody looked.
        return str(last["at"]) <= str(shown["since"])
    states = _FAILING if told.state == FAILING else (told.state,)
    return shown.get("state") in states and (told.reason is None or is_last)


def _check(message: Json, name: str, sees: Fails | Missing | Served) -> None:
    match sees:
        case Fails(reason=reason, retry_after_seconds=wait):
            assert "error" in message, (name, message)
            data = dict(message["error"]["data"])
            assert message["error"]["code"] == -32603, message
            # Who comes later is told what is left of the time.
            assert wait is None or 0 < data.pop("retryAfterSeconds") <= wait, message
            assert data == {"backend": name, "reason": reason}, message
        case Served():
            assert "result" in message, message
            assert words(message["result"]) in ("echo", f"{name}_echo", _said(name)), message


def _said(name: str) -> str:
    return json.dumps({"text": name})


async def _eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(HEALED_SECONDS):
        while not await holds():  # noqa: ASYNC110 (nobody tells when a gateway has found a backend again)
            await asyncio.sleep(_LOOK_SECONDS)


def name_of(cell: Cell) -> str:
    """Return the name of a cell's backend."""
    case, back = cell
    return f"{case.slug}-{back.label}"


def resident(pid: int) -> int:
    """Return the memory of a process, and begin to measure its peak anew."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    return _memory(pid, "VmRSS")


def peak(pid: int) -> int:
    """Return the most memory that a process has had since."""
    return _memory(pid, "VmHWM")


def _memory(pid: int, what: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) * 1024
