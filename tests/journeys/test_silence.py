"""Answers that take long: a stream begins before a balancer cuts the connection, and is kept alive."""

from __future__ import annotations

import asyncio

from tests.journeys.pairs import client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import named, sessioned, stateless, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.virtual_time import HandClock


@in_both_fronts
async def test_a_call_that_is_silent_for_ten_seconds_begins_a_stream_and_keeps_it(
    front: str,
) -> None:
    async def works(_: Invocation) -> Json:
        await go_on.wait()
        return text("done")

    go_on, clock, fake = asyncio.Event(), HandClock(), SessionedFake(works=works)
    async with serving(fake), gateway_of(config(fake), clock) as served:
        async with client(front, served.url) as caller:
            call = caller.call("works")
            await fake.first("tools/call")
            clock.move(10)
            answer = await call
            await answer.comments(1)
            clock.move(15)
            await answer.comments(2)
            go_on.set()

            assert answer.is_stream
            assert words((await answer.end())["result"]) == "done"
        await served.is_idle()


async def test_a_client_that_takes_no_stream_waits_for_its_body() -> None:
    async def works(_: Invocation) -> Json:
        await go_on.wait()
        return text("done")

    go_on, clock, fake = asyncio.Event(), HandClock(), SessionedFake(works=works)
    async with (
        serving(fake),
        gateway_of(config(fake), clock) as served,
        sessioned(served.url) as caller,
        stateless(served.url) as other,
    ):
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(
                caller.request("tools/call", named("works"), Accept="application/json")
            )
            patient = other.call("works")
            await fake.first("tools/call", 2)
            clock.move(60)
            await (await patient).comments(1)
            go_on.set()
        answer = waiting.result()

        assert not answer.is_stream
        assert words((await answer.end())["result"]) == "done"


async def test_streams_on_which_nothing_happens_are_kept_alive() -> None:
    clock, fake = HandClock(), SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake), clock) as served,
        sessioned(served.url) as old,
        stateless(served.url) as new,
    ):
        stream, listening = await old.listen(), await new.listen(toolsListChanged=True)

        clock.move(15)

        await stream.comments(1)
        await listening.comments(1)
