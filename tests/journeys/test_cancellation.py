"""A call that a client wants no more ends at the backend too, each era by its own rule."""

from __future__ import annotations

import asyncio

from tests.journeys.pairs import at_both_backs, backend, client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import sessioned, stateless, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text


async def never(invocation: Invocation) -> Json:
    """A tool that does not end by itself."""
    await asyncio.get_running_loop().create_future()
    return text(str(invocation.id))


@at_both_backs
async def test_cancelled_in_a_session_is_cancelled_at_the_backend(back: str) -> None:
    fake = backend(back, never=never)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = caller.call("never", identity="mine")
            sent = await fake.first("tools/call")

            await caller.notify("notifications/cancelled", requestId="mine")

            assert await fake.cancelled.first(bool) == "never"
            # The specification wants no response to a cancelled request.
            assert await (await call).next() is None
            told = [heard.params["requestId"] for heard in fake.asked("notifications/cancelled")]
            assert told == ([sent.message["id"]] if back == "sessioned" else [])
        await served.is_idle()


@at_both_backs
async def test_closing_the_stream_of_a_stateless_call_cancels_it_at_the_backend(back: str) -> None:
    fake = backend(back, never=never)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with stateless(served.url) as caller:
            call = caller.call("never")
            sent = await fake.first("tools/call")

            call.cancel()

            assert await fake.cancelled.first(bool) == "never"
            if back == "sessioned":
                told = await fake.first("notifications/cancelled")
                assert told.params["requestId"] == sent.message["id"]
        await served.is_idle()


@at_both_backs
async def test_closing_a_stream_that_has_begun_cancels_as_well(back: str) -> None:
    async def talks(invocation: Invocation) -> Json:
        invocation.progress(1)
        return await never(invocation)

    fake = backend(back, talks=talks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with stateless(served.url) as caller:
            answer = await caller.call("talks", progressToken="t")
            await answer.heard("notifications/progress")

            answer.close()

            assert await fake.cancelled.first(bool) == "talks"
        await served.is_idle()


@at_both_backs
async def test_a_connection_that_breaks_cancels_nothing_in_a_session(back: str) -> None:
    go_on = asyncio.Event()

    async def works(_: Invocation) -> Json:
        await go_on.wait()
        return text("done")

    fake = backend(back, works=works)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = caller.call("works")
            await fake.first("tools/call")

            call.cancel()
            # The gateway has surely noticed once it looks after the answer no more as young.
            await caller.ask("ping")
            go_on.set()

            assert await fake.finished.first(bool) == "works"
            assert len(fake.cancelled) == 0
        await served.is_idle()


async def test_an_id_of_another_session_cancels_nothing_there() -> None:
    go_on = asyncio.Event()

    async def works(_: Invocation) -> Json:
        await go_on.wait()
        return text("done")

    fake = SessionedFake(works=works)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as one,
        sessioned(served.url) as two,
    ):
        call = one.call("works", identity=1)
        await fake.first("tools/call")

        await two.notify("notifications/cancelled", requestId=1)
        go_on.set()

        assert words((await (await call).end())["result"]) == "done"
        assert len(fake.cancelled) == 0


@in_both_fronts
async def test_a_call_that_has_ended_is_not_cancelled(front: str) -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller:
            answer = await caller.call("echo", identity=5)
            await answer.end()
            answer.close()
            await caller.ask("tools/list")
        await served.is_idle()

    assert not fake.asked("notifications/cancelled")


async def test_ending_a_session_cancels_its_calls_at_the_backend() -> None:
    fake = SessionedFake(never=never)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = caller.call("never")
            await fake.first("tools/call")

            assert await caller.end() == 204

            assert await fake.cancelled.first(bool) == "never"
            assert await (await call).next() is None
        await served.is_idle()
    assert [heard.session for heard in fake.asked("DELETE")].count("session-2") == 1
