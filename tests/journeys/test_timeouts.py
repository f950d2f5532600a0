"""The time limit of a backend governs the whole of a call, whatever it says meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from tests.journeys.pairs import at_both_backs, backend, client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import named, sessioned, stateless, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.waiting import moment


async def never(_: Invocation) -> Json:
    """A tool that does not end by itself."""
    return await asyncio.get_running_loop().create_future()


async def talks(invocation: Invocation) -> Json:
    """A tool that never ends and always says something."""
    done = 0
    while True:
        done += 1
        invocation.progress(done)
        await moment()


def limits(**seconds: str) -> Json:
    return {"timeouts": {"default": "10s", "perWorkload": seconds}}


@in_both_fronts
@at_both_backs
async def test_a_slow_call_works_where_it_may_and_fails_where_it_may_not(
    front: str, back: str
) -> None:
    go_on = asyncio.Event()

    async def slow(_: Invocation) -> Json:
        await go_on.wait()
        return text("at last")

    a, b = backend(back, slow=slow), backend(back, never=never)
    async with serving(a, b), gateway_of(config(a, b, operational=limits(b="1s"))) as served:
        async with client(front, served.url) as caller:
            patient = caller.call("slow")
            await a.first("tools/call")

            failed = await (await caller.call("never")).end()
            go_on.set()

            assert failed["error"]["code"] == -32603
            assert failed["error"]["data"] == {"backend": "b", "reason": "TimedOut"}
            assert "within 1 s" in failed["error"]["message"]
            assert words((await (await patient).end())["result"]) == "at last"
            assert await b.cancelled.first(bool) == "never"
        await served.is_idle()


@in_both_fronts
@at_both_backs
@pytest.mark.parametrize("name", ["never", "talks"])
async def test_a_call_that_the_gateway_cuts_off_is_told_why_and_cancelled(
    front: str, back: str, name: str
) -> None:
    fake = backend(back, never=never, talks=talks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller:
            call = caller.call(name, progressToken="t")
            await fake.first("tools/call")

            served.endpoint.cut_off()

            error = (await (await call).end())["error"]
            assert (error["code"], error["data"]) == (-32603, {"reason": "Stopping"})
            assert await fake.cancelled.first(bool) == name
            assert served.status()["backends"][0]["lastFailure"] is None
        await served.is_idle()


@pytest.mark.parametrize("name", ["never", "talks"])
async def test_a_sessioned_backend_is_told_that_the_time_is_over(name: str) -> None:
    fake = SessionedFake(never=never, talks=talks)
    async with (
        serving(fake),
        gateway_of(config(fake, operational=limits(a="1s"))) as served,
        sessioned(served.url) as caller,
    ):
        sent = caller.call(name, progressToken=1)

        told = await fake.first("notifications/cancelled")

        assert told.params["requestId"] == (await fake.first("tools/call")).message["id"]
        assert told.session == (await fake.first("tools/call")).session
        assert (await (await sent).end())["error"]["data"]["reason"] == "TimedOut"


@in_both_fronts
@at_both_backs
async def test_progress_does_not_extend_the_time(front: str, back: str) -> None:
    fake = backend(back, talks=talks)
    async with serving(fake), gateway_of(config(fake, operational=limits(a="1s"))) as served:
        async with client(front, served.url) as caller:
            answer = await caller.call("talks", progressToken="t")

            end = await answer.end()

            assert end.get("error", {}).get("data") == {"backend": "a", "reason": "TimedOut"}, end
            assert answer.notes
            assert await fake.cancelled.first(bool) == "talks"
        await served.is_idle()


@in_both_fronts
async def test_a_backend_that_opens_no_session_in_time_is_no_exception(front: str) -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake, operational=limits(a="1s"))) as served:
        async with client(front, served.url) as caller:
            gate = fake.hold("initialize")

            error = await caller.refused("tools/call", named("echo"))
            gate.set()

            assert error["data"] == {"backend": "a", "reason": "TimedOut"}
        await served.is_idle()


async def test_a_session_that_was_opened_too_late_for_its_call_is_ended() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake, operational=limits(a="1s"))) as served:
        async with stateless(served.url) as caller:
            gate = fake.hold("notifications/initialized")

            error = await caller.refused("tools/call", named("echo"))
            gate.set()

            assert error["data"]["reason"] == "TimedOut"
            assert (await fake.first("DELETE")).session == "session-2"
        await served.is_idle()
