"""What the clients of a soak do, each in a loop: every answer is checked, every failure has an address."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import aiohttp

from tests.soak.fleet import Ship
from tests.support import clients
from tests.support.clients import Answer, Client, SessionedClient, StatelessClient

Json = dict[str, Any]

_FORM = {"elicitation": {"form": {}}}
_ACCEPTED = {"action": "accept", "content": {}}
_STEPS = 5
_PAUSE_SECONDS = 0.02
_AGAIN_SECONDS = 1.0
_FEW_CALLS = 50
_MOST_FAULTS = 20
# What a client of a backend that is away may be told.
_MAY_FAIL = frozenset((-32603, -32602))
_TOLD_SECONDS = 8.0
_TRIES = 3


class Failed(Exception):
    """A request ended with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(json.dumps(error))
        self.code = error["code"]


@dataclass(slots=True)
class Tally:
    """What was done how often, what failed as it may, and what is a fault."""

    done: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, what: str) -> None:
        """Take note of what must not be; the first ones are kept."""
        self.done["faults"] += 1
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(what)


class Traffic:
    """All clients of a soak, until `stop`."""

    def __init__(self, url: str, ships: Sequence[Ship]) -> None:
        self.tally = Tally()
        self._url = url
        self._ships = ships
        self._numbers = itertools.count()
        self._is_over = False

    def stop(self) -> None:
        """Have every client end after what it is about."""
        self._is_over = True

    async def run(self, crowd: int) -> None:
        """Run so many clients of each kind."""
        kinds: list[Callable[[Client, Ship], Coroutine[None, None, None]]] = [
            *(self._echo, self._echo, self._echo, self._steps, self._asks),
            *(self._cancel, self._list, self._read, self._subscribe, self._vanish),
        ]
        async with asyncio.TaskGroup() as tasks:
            for kind in kinds * crowd:
                for era in ("sessioned", "stateless"):
                    tasks.create_task(self._work(kind, era))
            tasks.create_task(self._leave_sessions())

    async def _work(
        self, kind: Callable[[Client, Ship], Coroutine[None, None, None]], era: str
    ) -> None:
        """Do one thing again and again; each session is used for a while, then ended."""
        while not self._is_over:
            async with AsyncExitStack() as stack:
                client = await self._client(stack, era)
                for _ in range(_FEW_CALLS):
                    if self._is_over:
                        break
                    await self._once(kind, client)
                    await asyncio.sleep(random.uniform(0, 2 * _PAUSE_SECONDS))

    async def _client(self, stack: AsyncExitStack, era: str) -> Client:
        made = clients.sessioned if era == "sessioned" else clients.stateless
        client: Client = await stack.enter_async_context(made(self._url, _FORM))
        return client

    async def _once(
        self, kind: Callable[[Client, Ship], Coroutine[None, None, None]], client: Client
    ) -> None:
        name, ship = kind.__name__.strip("_"), random.choice(self._ships)
        began = perf_counter()
        try:
            await kind(client, ship)
        except Failed as failed:
            if ship.was_away(began) and failed.code in _MAY_FAIL:
                self.tally.excused[name] += 1
                return
            self.tally.fault(f"{name} at {ship.name}: {failed}")
        except (AssertionError, TimeoutError, aiohttp.ClientError, OSError) as error:
            self.tally.fault(f"{name} at {ship.name}: {error!r}")
        else:
            self.tally.done[name] += 1

    def _words(self) -> str:
        return f"words {next(self._numbers)}"

    # The kinds of work.

    async def _echo(self, client: Client, ship: Ship) -> None:
        mark = self._words()
        _is_echo(await _ask(client, ship, "echo", {"text": mark}), {"text": mark})

    async def _steps(self, client: Client, ship: Ship) -> None:
        """Call with progress, all of which must come, in order, before the answer."""
        mark, token = self._words(), f"token {next(self._numbers)}"
        tool = "progress" if ship.is_child else "steps"
        params = _call(ship, tool, {"text": mark, "steps": _STEPS})
        answer = await client.request("tools/call", {**params, "_meta": {"progressToken": token}})
        result = _result(await answer.end())
        heard = [
            each["params"] for each in answer.notes if each["method"] == "notifications/progress"
        ]
        told = [each["progress"] for each in heard if each["progressToken"] == token]
        assert told == list(range(1, _STEPS + 1)), (token, answer.notes)
        if not ship.is_child:
            _is_echo(result, {"text": mark, "steps": _STEPS})

    async def _asks(self, client: Client, ship: Ship) -> None:
        """Call what asks before it answers, and answer."""
        if ship.is_child:
            await self._echo(client, ship)
            return
        mark = self._words()
        params = _call(ship, "asks", {"text": mark})
        if isinstance(client, SessionedClient):
            result = await _answered_live(client, await client.request("tools/call", params))
        else:
            result = await _answered_again(client, params)
        _is_echo(result, {"text": mark, "answer": _ACCEPTED})

    async def _cancel(self, client: Client, ship: Ship) -> None:
        """Begin what never ends, and cancel it by the rule of the era."""
        identity = f"cancel {next(self._numbers)}"
        tool = "hang" if ship.is_child else "waits"
        call = _begun(client.request("tools/call", _call(ship, tool, {}), identity))
        await asyncio.sleep(_PAUSE_SECONDS)
        if isinstance(client, SessionedClient):
            # What cancels may overtake what it is to cancel, and then nothing comes of it.
            while not call.done():
                await client.notify("notifications/cancelled", requestId=identity)
                await asyncio.wait([call], timeout=_AGAIN_SECONDS)
            end = await (await call).next()
            if end is not None:
                _result(end)
        else:
            call.cancel()
            await asyncio.wait([call])

    async def _list(self, client: Client, _: Ship) -> None:
        """List tools; those of backends that live on are always there."""
        names = set(await client.tools())
        lacking = [each.name for each in self._ships if f"{each.name}_echo" not in names]
        steady = {each.name for each in self._ships if not each.is_mortal}
        assert not steady.intersection(lacking), lacking

    async def _read(self, client: Client, ship: Ship) -> None:
        """Read a resource of a backend that has one."""
        if ship.is_child:
            await self._echo(client, ship)
            return
        message = await (await client.request("resources/read", {"uri": ship.uri})).end()
        (content,) = _result(message)["contents"]
        assert content["text"] == content["uri"] == ship.uri

    async def _subscribe(self, client: Client, ship: Ship) -> None:
        """Hear of a change of a resource that changes all the time."""
        if ship.is_child or ship.is_mortal:
            await self._echo(client, ship)
            return
        if isinstance(client, SessionedClient):
            await client.ask("resources/subscribe", {"uri": ship.uri})
            stream = await client.listen()
        else:
            assert isinstance(client, StatelessClient)
            stream = await client.listen(
                f"listen {next(self._numbers)}", resourceSubscriptions=[ship.uri]
            )
        try:
            async with asyncio.timeout(_TOLD_SECONDS):
                told = await stream.heard("notifications/resources/updated")
            assert told["params"]["uri"] == ship.uri
        finally:
            stream.close()
        if isinstance(client, SessionedClient):
            await client.ask("resources/unsubscribe", {"uri": ship.uri})

    async def _vanish(self, client: Client, ship: Ship) -> None:
        """Be gone in the middle of a call, at a moment that is never the same."""
        tool = "echo" if ship.is_child else "slow"
        call = _begun(client.request("tools/call", _call(ship, tool, {"seconds": 0.05})))
        await asyncio.sleep(random.uniform(0, 0.06))
        if call.done() and not call.cancelled() and call.exception() is None:
            call.result().close()
        call.cancel()
        await asyncio.wait([call])

    async def _leave_sessions(self) -> None:
        """Open sessions that nobody ends."""
        while not self._is_over:
            async with aiohttp.ClientSession() as http, asyncio.TaskGroup() as tasks:
                client = SessionedClient(http, tasks, self._url)
                await client.initialize({}, "leaves")
                self.tally.done["sessions left"] += 1
            await asyncio.sleep(1.0)


def _begun(request: Coroutine[None, None, Answer]) -> asyncio.Task[Answer]:
    """Begin a request in a task that whoever began it awaits in every case."""
    return asyncio.get_running_loop().create_task(request)


def _call(ship: Ship, tool: str, arguments: Mapping[str, object]) -> Json:
    return {"name": f"{ship.name}_{tool}", "arguments": dict(arguments)}


async def _ask(client: Client, ship: Ship, tool: str, arguments: Mapping[str, object]) -> Json:
    answer = await client.request("tools/call", _call(ship, tool, arguments))
    return _result(await answer.end())


def _result(message: Json) -> Json:
    if "error" in message:
        raise Failed(message["error"])
    result: Json = message["result"]
    return result


def _is_echo(result: Json, expected: Json) -> None:
    found = json.loads(result["content"][0]["text"])
    assert found == expected, f"{found} is not {expected}"


async def _answered_live(client: SessionedClient, answer: Answer) -> Json:
    while (message := await answer.next()) is not None:
        if message.get("method") == "elicitation/create":
            await client.answer(message["id"], result=_ACCEPTED)
        elif "method" not in message:
            return _result(message)
    raise AssertionError("the answer ended without a response")


async def _answered_again(client: Client, params: Json) -> Json:
    for _ in range(_TRIES):
        result = _result(await (await client.request("tools/call", params)).end())
        if result.get("resultType") != "input_required":
            return result
        responses = dict.fromkeys(result["inputRequests"], _ACCEPTED)
        answers = {"inputResponses": responses, "requestState": result["requestState"]}
        params = {"name": params["name"], "arguments": params["arguments"], **answers}
    raise AssertionError("it asks without end")
