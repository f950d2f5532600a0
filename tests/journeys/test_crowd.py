"""Many clients that do all that clients do, also what is rude; when they have gone, nothing is left."""

from __future__ import annotations

import asyncio
import random

import aiohttp
import pytest

from tests.journeys.pairs import SESSIONED, STATELESS, client
from tests.support.backends import Fake, serving
from tests.support.clients import Client, SessionedClient, StatelessClient, named
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.stateless_backend import StatelessFake
from tests.support.waiting import moment, until

ELICITS = {"elicitation": {"form": {}}}
URI = "note://1"
CLIENTS, STEPS = 12, 12


async def never(_: Invocation) -> Json:
    """A tool that does not end by itself."""
    return await asyncio.get_running_loop().create_future()


async def works(invocation: Invocation) -> Json:
    """A tool that tells of its progress."""
    for done in range(3):
        invocation.progress(done)
        await moment()
    return text("done")


async def asks(invocation: Invocation) -> Json:
    """A tool that asks its caller."""
    await invocation.ask("elicitation/create", {"message": "?"})
    return text("done")


class Visitor:
    """A client that does what chance tells it."""

    def __init__(self, caller: Client, number: int) -> None:
        self.caller = caller
        self.rng = random.Random(number)
        self.steps = [self.call, self.leave, self.list, self.watch]
        if isinstance(caller, SessionedClient):
            self.steps += [self.cancel, self.be_asked, self.ignore]

    async def visit(self) -> None:
        for _ in range(STEPS):
            await self.rng.choice(self.steps)()

    def _tool(self, name: str) -> str:
        return f"{self.rng.choice('ab')}_{name}"

    async def call(self) -> None:
        answer = await self.caller.call(self._tool("works"), progressToken=1)
        assert "result" in await answer.end()
        assert len(answer.notes) == 3

    async def leave(self) -> None:
        call = self.caller.call(self._tool("never"), progressToken=1)
        await moment()
        call.cancel()

    async def list(self) -> None:
        assert await self.caller.tools()

    async def watch(self) -> None:
        if isinstance(self.caller, StatelessClient):
            wishes = {"resourceSubscriptions": [URI], "toolsListChanged": True}
            stream = await self.caller.listen(self.rng.random(), **wishes)
        else:
            assert isinstance(self.caller, SessionedClient)
            await self.caller.ask("resources/subscribe", {"uri": URI})
            stream = await self.caller.listen()
        await moment()
        stream.close()

    async def cancel(self) -> None:
        assert isinstance(self.caller, SessionedClient)
        identity = self.rng.random()
        call = self.caller.call(self._tool("never"), identity)
        await moment()
        await self.caller.notify("notifications/cancelled", requestId=identity)
        if (answer := await call) is not None:
            assert await answer.next() is None

    async def be_asked(self) -> None:
        assert isinstance(self.caller, SessionedClient)
        answer = await self.caller.call("a_asks")
        asked = await answer.heard("elicitation/create")
        await self.caller.answer(asked["id"], result={"action": "accept"})
        assert "result" in await answer.end()

    async def ignore(self) -> None:
        answer = await self.caller.call("a_asks")
        await answer.heard("elicitation/create")
        answer.close()


async def visited(served: Served, number: int) -> None:
    front = (SESSIONED, STATELESS)[number % 2]
    async with client(front, served.url, **ELICITS) as caller:
        await Visitor(caller, number).visit()


def backends() -> tuple[Fake, Fake]:
    made = (
        SessionedFake(never=never, works=works, asks=asks),
        StatelessFake(never=never, works=works),
    )
    for fake in made:
        fake.shelf.resources[URI] = "a note"
    return made


@pytest.mark.parametrize("scope", ["call", "shared"])
async def test_nothing_is_left_of_a_crowd_that_has_gone(scope: str) -> None:
    a, b = backends()
    each = {"sessionScope": scope}
    async with (
        serving(a, b),
        gateway_of(config(a, b, each=each, aggregation={})) as served,
    ):
        async with asyncio.TaskGroup() as tasks:
            for number in range(CLIENTS):
                tasks.create_task(visited(served, number))
        # Where they are shared a session stays for each set of capabilities, with its stream.
        kept = {"call": [], "shared": ["1 sessions at a", "1 connections"]}[scope]
        await until(lambda: served.left() == kept)
        assert len(a.sessions) == (2 if kept else 1)
        assert len(a.cancelled) > 0
        assert len(b.cancelled) > 0


async def test_a_crowd_survives_backends_that_come_and_go() -> None:
    a, b = backends()
    async with serving(a, b), gateway_of(config(a, b, aggregation={})) as served:
        rng = random.Random(7)
        async with asyncio.TaskGroup() as tasks:
            crowd = [tasks.create_task(restless(served, number)) for number in range(8)]
            for _ in range(6):
                fake = rng.choice((a, b))
                await moment()
                await fake.stop()
                await moment()
                await fake.start(fake.port)
            await asyncio.wait(crowd)
        await served.is_idle()


async def restless(served: Served, number: int) -> None:
    """Call again and again; what fails must fail in the words of the protocol."""
    front = (SESSIONED, STATELESS)[number % 2]
    async with client(front, served.url) as caller:
        for step in range(20):
            name = ("a_echo", "b_echo", "a_works", "b_works")[(number + step) % 4]
            try:
                end = await (
                    await caller.request("tools/call", named(name, progressToken=step))
                ).end()
            except aiohttp.ClientError as error:
                raise AssertionError("the gateway itself broke off") from error
            assert "result" in end or end["error"]["code"] == -32603, end
            await moment()
