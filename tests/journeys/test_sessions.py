"""Sessions at backends of the sessioned era: whose they are, and what happens when they are lost."""

from __future__ import annotations

import asyncio

import pytest

from tests.journeys.pairs import client, in_both_fronts
from tests.support.backends import Heard, serving
from tests.support.clients import SessionedClient, named, sessioned, stateless, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Fault, Invocation, Json, text
from tests.support.waiting import until

SHARED = {"sessionScope": "shared"}


def of_client(heard: Heard) -> bool:
    return heard.method == "initialize" and heard.params["clientInfo"]["name"] != "vmcp"


async def test_each_client_session_has_one_of_its_own_at_the_backend() -> None:
    fake = SessionedFake()
    elicits, plain = {"elicitation": {"form": {}}, "x": {"vendor": 1}}, {"roots": {}}
    async with serving(fake), gateway_of(config(fake)) as served:
        async with (
            sessioned(served.url, elicits, "one") as one,
            sessioned(served.url, plain, "two") as two,
        ):
            for caller in (one, two, one, two):
                await caller.ask("tools/call", named("echo"))

            assert [each.capabilities for each in fake.of("one")] == [elicits]
            assert [each.capabilities for each in fake.of("two")] == [plain]
            assert fake.of("one")[0].info == {"name": "one", "version": "1"}
        await served.is_idle()

        assert [each.info["name"] for each in fake.sessions.values()] == ["vmcp"]


async def test_a_session_at_the_backend_is_opened_on_first_use_alone() -> None:
    a, b = SessionedFake(), SessionedFake()
    async with (
        serving(a, b),
        gateway_of(config(a, b)) as served,
        sessioned(served.url) as caller,
    ):
        await caller.ask("tools/call", named("b_echo"))

        assert not a.heard.having(of_client)
        assert len(b.heard.having(of_client)) == 1


async def test_calls_that_begin_together_open_one_session() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            gate = fake.hold("initialize")
            calls = [caller.call("echo") for _ in range(5)]
            await fake.heard.first(of_client)
            gate.set()

            for call in calls:
                assert words((await (await call).end())["result"]) == "{}"

            assert len(fake.heard.having(of_client)) == 1
        await served.is_idle()


async def test_the_version_agreed_with_the_backend_is_on_every_request_after_initialize() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, name="older", version="2025-06-18") as caller:
            await caller.ask("tools/call", named("echo"))
            assert fake.of("older")[0].version == "2025-06-18"
            identity = fake.of("older")[0].id
        await served.is_idle()

    sent = fake.heard.having(lambda heard: heard.session == identity)
    assert {heard.headers["mcp-protocol-version"] for heard in sent} == {"2025-06-18"}
    assert [heard.method for heard in sent] == ["notifications/initialized", "tools/call", "DELETE"]


LOST = {
    "404": Fault(-32600, "Session not found", status=404),
    "400 -32600": Fault(-32600, "no such session", status=400),
    "400 -32000": Fault(-32000, "Bad Request: No valid session ID provided", status=400),
    "400 -32001": Fault(-32001, "Session not found", status=400),
}


@pytest.mark.parametrize("lost", list(LOST.values()), ids=list(LOST))
async def test_a_lost_session_is_opened_anew_and_the_call_done_once(lost: Fault) -> None:
    fake = SessionedFake()
    fake.lost = lost
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            await caller.ask("tools/call", named("echo"))
            fake.forget()

            result = await caller.ask("tools/call", named("echo"))

            assert words(result) == "{}"
            assert len(fake.finished) == 2
            assert len(fake.of("sessioned")) == 1
        await served.is_idle()


async def test_a_session_that_many_calls_find_lost_is_opened_anew_once() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            await caller.ask("tools/call", named("echo"))
            fake.forget()
            before = len(fake.heard.having(of_client))

            calls = [caller.call("echo") for _ in range(5)]
            ends = [await (await call).end() for call in calls]

            assert all("result" in end for end in ends)
            assert len(fake.heard.having(of_client)) - before == 1
            assert len(fake.finished) == 6
        await served.is_idle()


@in_both_fronts
async def test_sessions_that_end_at_once_are_an_error_and_no_endless_loop(front: str) -> None:
    fake = SessionedFake()
    fake.forgets_calls = True
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller:
            error = await caller.refused("tools/call", named("echo"))

            assert error["code"] == -32603
            assert error["data"] == {"backend": "a", "reason": "SessionLost"}
            assert len(fake.asked("tools/call")) == (2 if front == "sessioned" else 1)
        await served.is_idle()


@in_both_fronts
async def test_a_refusal_that_a_new_session_does_not_change_is_passed_on(front: str) -> None:
    def refuse(_: Json) -> Json:
        raise Fault(-32600, "I do not like this", status=400)

    fake = SessionedFake()
    fake.shelf.more["vendor/act"] = refuse
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller:
            error = await caller.refused("vendor/act")

            assert error == {"code": -32600, "message": "I do not like this"}
        await served.is_idle()


@in_both_fronts
async def test_a_call_whose_connection_breaks_is_not_repeated(front: str) -> None:
    async def breaks(_: Invocation) -> Json:
        started.set()
        return await asyncio.get_running_loop().create_future()

    started = asyncio.Event()
    fake = SessionedFake(breaks=breaks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller:
            call = caller.call("breaks")
            await started.wait()
            await fake.stop()
            error = (await (await call).end())["error"]

            assert error["data"]["reason"] == "ConnectionLost"
            assert len(fake.asked("tools/call")) == 1
            await fake.start(fake.port)
        await served.is_idle()


async def test_a_stateless_call_has_a_session_of_its_own_that_ends_with_it() -> None:
    async def tells(invocation: Invocation) -> Json:
        return text(str(invocation.capabilities))

    fake = SessionedFake(tells=tells)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with stateless(served.url, {"experimental": {"x": {}}}) as caller:
            results = [await caller.ask("tools/call", named("tells")) for _ in range(3)]

            assert {words(result) for result in results} == {str({"experimental": {"x": {}}})}
            await fake.first("DELETE", 3)
            used = [heard.session for heard in fake.asked("tools/call")]
            assert sorted(used) == sorted(heard.session for heard in fake.asked("DELETE"))
            assert len(set(used)) == 3
            assert fake.heard.having(of_client)[0].params["clientInfo"]["name"] == "stateless"
        await served.is_idle()


@in_both_fronts
async def test_a_session_that_opens_when_its_client_has_gone_is_ended(front: str) -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller:
            gate = fake.hold("initialize")
            call = caller.call("echo", "mine")
            await fake.heard.first(of_client)
            if isinstance(caller, SessionedClient):
                await caller.notify("notifications/cancelled", requestId="mine")
                assert await (await call).next() is None
            else:
                call.cancel()
                await until(lambda: not len(served.keeper))
            gate.set()

            assert (await fake.first("DELETE")).session == "session-2"
            assert len(fake.sessions) == 1
            assert not fake.asked("tools/call")
        await served.is_idle()


async def test_stateless_calls_share_a_session_where_the_backend_is_configured_so() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake, each=SHARED)) as served,
        stateless(served.url) as one,
        stateless(served.url) as two,
    ):
        for caller in (one, two, one):
            await caller.ask("tools/call", named("echo"))

        assert len({heard.session for heard in fake.asked("tools/call")}) == 1
        assert not fake.asked("DELETE")


async def test_clients_that_declare_other_capabilities_do_not_share_a_session() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake, each=SHARED)) as served,
        stateless(served.url) as one,
        stateless(served.url, {"experimental": {}}) as two,
    ):
        for caller in (one, two):
            await caller.ask("tools/call", named("echo"))

        assert len({heard.session for heard in fake.asked("tools/call")}) == 2


@in_both_fronts
async def test_a_backend_that_gives_no_ids_is_shared_and_opened_once(front: str) -> None:
    fake = SessionedFake()
    fake.gives_ids = False
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as one, client(front, served.url) as two:
            for caller in (one, two):
                await caller.ask("tools/call", named("echo"))
        await served.is_idle()

    assert len(fake.asked("initialize")) == 1
    assert not fake.asked("DELETE")


async def test_a_session_of_the_client_that_has_ended_is_unknown() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        assert await caller.end() == 204

        after = await caller.request("tools/list")

        assert after.status == 404
        assert (await after.end())["error"]["code"] == -32600


async def test_the_streams_of_a_session_end_with_it() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            stream = await caller.listen()

            await caller.end()

            assert await stream.next() is None
            assert (await caller.listen()).status == 404
        await served.is_idle()
