"""Servers that ask on the stream of the session, not on that of the call: with clients of both eras."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.eras.pairs import ABLE, HTTP, SESSIONED, STATELESS, Pair, Question
from tests.eras.tools import FORM
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.waiting import until

PAIRS = [Pair(front, SESSIONED, HTTP) for front in (SESSIONED, STATELESS)]


@pytest.fixture(params=PAIRS, ids=lambda pair: pair.front)
def pair(request: pytest.FixtureRequest) -> Pair:
    found: Pair = request.param
    return found


def accept(question: Question) -> Json:
    return {"action": "accept", "content": {"method": question.method}}


class Aside:
    """A tool that asks on the stream of its session, and a fake that has it."""

    def __init__(self) -> None:
        self.fake = SessionedFake(asks=self.run)
        self.taken_back = asyncio.Event()

    async def run(self, invocation: Invocation) -> Json:
        (session,) = [each for each in self.fake.sessions.values() if invocation.id in each.calls]
        if session.stream is None:
            return text("nobody listens")
        answer = await self.fake._asked(session, session.stream, *FORM)
        return text(str(answer.get("result", answer.get("error"))))


async def end(call: Any, say: Any = None) -> str:
    words: str = (await call.end(say))["result"]["content"][0]["text"]
    return words


async def test_a_question_on_the_sessions_stream_reaches_the_client_of_its_call(pair: Pair) -> None:
    tool = Aside()
    async with pair.gateway(tool.fake) as served, pair.client(served, **ABLE) as caller:
        for _ in range(2):
            said = await end(pair.dialogue(caller), accept)

            assert said == str({"action": "accept", "content": {"method": FORM[0]}})


async def test_a_client_that_can_be_asked_nothing_costs_no_stream(pair: Pair) -> None:
    tool = Aside()
    async with pair.gateway(tool.fake) as served, pair.client(served) as caller:
        assert await end(pair.dialogue(caller)) == "nobody listens"


async def test_a_server_without_that_stream_is_called_all_the_same(pair: Pair) -> None:
    tool = Aside()
    tool.fake.has_stream = False
    async with pair.gateway(tool.fake) as served, pair.client(served, **ABLE) as caller:
        assert await end(pair.dialogue(caller)) == "nobody listens"


async def test_a_question_about_no_call_is_refused(pair: Pair) -> None:
    tool = Aside()
    fake = tool.fake
    async with pair.gateway(fake) as served, pair.client(served, **ABLE) as caller:
        asked = asyncio.Event()

        async def waits(invocation: Invocation) -> Json:
            (session,) = [each for each in fake.sessions.values() if invocation.id in each.calls]
            assert session.stream is not None
            session.stream.put_nowait({"jsonrpc": "2.0", "id": "x", "method": "sampling/other"})
            await fake.heard.first(lambda heard: heard.message.get("id") == "x")
            asked.set()
            return text("refused")

        fake.shelf.tools["asks"] = waits

        assert await end(pair.dialogue(caller)) == "refused"
        told = await fake.heard.first(lambda heard: heard.message.get("id") == "x")
        assert told.message["error"]["code"] == -32601


async def test_the_stream_ends_with_the_session(pair: Pair) -> None:
    tool = Aside()
    async with pair.gateway(tool.fake) as served:
        async with pair.client(served, **ABLE) as caller:
            await end(pair.dialogue(caller), accept)
        client = "sessioned" if pair.front == SESSIONED else "stateless"
        await until(lambda: not tool.fake.of(client))
