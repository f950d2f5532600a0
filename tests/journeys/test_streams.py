"""Streams of sessions that are left and come back to, by the ids of their events."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.backends import serving
from tests.support.clients import Answer, SessionedClient, named, sessioned, stateless, words
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.virtual_time import HandClock
from tests.support.waiting import until

UPDATED, CHANGED = "notifications/resources/updated", "notifications/tools/list_changed"
ONE = "test://one"
CAPABILITIES = {"elicitation": {"form": {}}}
QUESTION = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
EVENTS_FIRST = "text/event-stream, application/json"


class Working:
    """A tool that tells two things, and after each waits to be let go on."""

    def __init__(self) -> None:
        self.gates = [asyncio.Event(), asyncio.Event()]

    async def __call__(self, invocation: Invocation) -> Json:
        for number, gate in enumerate(self.gates):
            invocation.log("info", f"part {number}")
            await gate.wait()
        return text("done")


def parts(answer: Answer) -> list[str]:
    return [note["params"]["data"] for note in answer.notes]


async def left(served: Served) -> None:
    """Wait until the gateway has seen that the client of the one answer has gone."""
    await until(lambda: all(kept.has_left for kept in served.keeper._watched))
    await until(lambda: not served.keeper._young)


async def asks(invocation: Invocation) -> Json:
    answer = await invocation.ask("elicitation/create", QUESTION)
    return text(str(answer.get("result", answer.get("error"))))


async def test_every_event_of_a_session_has_an_id_of_its_own() -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    for gate in working.gates:
        gate.set()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            streams = [await caller.listen(), await caller.listen()]
            calls = [await caller.call("works") for _ in range(2)]
            for call in calls:
                await call.end()
            fake.shelf.tools["new"] = asks
            fake.tell(CHANGED)
            await streams[1].heard(CHANGED)

            ids = [each for answer in (*calls, streams[1]) for each in answer.ids]
            assert len(ids) == len(set(ids)) == 4 + 4 + 2
            assert ids == [*calls[0].ids, *calls[1].ids, *streams[1].ids]
        await served.is_idle()


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26", "2024-11-05"])
async def test_an_older_client_gets_ids_and_no_event_without_data(version: str) -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    for gate in working.gates:
        gate.set()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, version=version) as caller:
            stream, call = await caller.listen(), await caller.call("works")
            await call.end()
            await stream.comments(1)

            assert len(call.ids) == 3
            assert not stream.ids
            assert b"retry" not in call.raw + stream.raw
        await served.is_idle()


async def test_the_newest_clients_can_come_back_before_anything_was_said() -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.request("tools/call", named("works"), Accept=EVENTS_FIRST)
            await call.heard("notifications/message")
            call.close()
            assert call.raw.startswith(b"id: " + call.ids[0].encode() + b"\nretry: 1000\ndata:\n\n")

            again = await caller.listen(call.ids[0])
            for gate in working.gates:
                gate.set()

            assert words((await again.end())["result"]) == "done"
            assert parts(again) == ["part 0", "part 1"]
        await served.is_idle()


async def test_a_stateless_client_gets_no_ids() -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    for gate in working.gates:
        gate.set()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        meta = {"io.modelcontextprotocol/logLevel": "debug"}
        call = await caller.request("tools/call", {"name": "works", "_meta": meta})
        await call.end()

        assert parts(call) == ["part 0", "part 1"]
        assert not call.ids


async def test_a_call_goes_on_without_its_client_and_its_result_waits() -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.call("works", identity="mine")
            await call.heard("notifications/message")
            call.close()
            for gate in working.gates:
                gate.set()
            await fake.finished.first(bool)
            await until(lambda: not len(served.keeper))

            again = await caller.listen(call.ids[-1])
            end = await again.end()

            assert (end["id"], words(end["result"])) == ("mine", "done")
            assert parts(again) == ["part 1"]
            assert await again.next() is None
            assert len(fake.asked("tools/call")) == 1
            once_more = await caller.listen(again.ids[-1])
            assert await once_more.next() is None
        await served.is_idle()


async def test_a_client_that_comes_back_in_time_gets_what_still_comes() -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.call("works")
            await call.heard("notifications/message")
            call.close()
            await left(served)

            again = await caller.listen(call.ids[-1])
            working.gates[0].set()
            assert (await again.heard("notifications/message"))["params"]["data"] == "part 1"
            again.close()
            third = await caller.listen(again.ids[-1])
            working.gates[1].set()

            assert words((await third.end())["result"]) == "done"
            assert not third.notes
        await served.is_idle()


async def test_a_stream_that_is_taken_over_says_nothing_more_on_its_old_connection() -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.call("works")
            await call.heard("notifications/message")

            again = await caller.listen(call.ids[-1])
            for gate in working.gates:
                gate.set()

            assert words((await again.end())["result"]) == "done"
            assert await call.next() is None
        await served.is_idle()


async def test_a_client_that_was_asked_may_come_back_with_its_answer() -> None:
    fake = SessionedFake(asks=asks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, CAPABILITIES) as caller:
            call = await caller.call("asks")
            asked = await call.heard("elicitation/create")
            call.close()
            await left(served)

            again = await caller.listen(call.ids[0])
            asked_again = await again.heard("elicitation/create")
            await caller.answer(asked["id"], result={"action": "decline"})

            assert asked_again == asked
            assert words((await again.end())["result"]) == str({"action": "decline"})
        await served.is_idle()


async def test_a_client_that_is_away_is_asked_when_it_comes_back() -> None:
    async def asks_late(invocation: Invocation) -> Json:
        invocation.log("info", "soon")
        await go_on.wait()
        return await asks(invocation)

    go_on, fake = asyncio.Event(), SessionedFake(asks_late=asks_late)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url, CAPABILITIES) as caller:
            call = await caller.call("asks_late")
            await call.heard("notifications/message")
            call.close()
            await left(served)
            go_on.set()

            again = await caller.listen(call.ids[-1])
            asked = await again.heard("elicitation/create")
            await caller.answer(asked["id"], result={"action": "accept"})

            assert words((await again.end())["result"]) == str({"action": "accept"})
        await served.is_idle()


async def test_a_call_that_is_cancelled_leaves_nothing_to_come_back_for() -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.call("works", identity="mine")
            await call.heard("notifications/message")
            await caller.notify("notifications/cancelled", requestId="mine")
            assert await call.next() is None

            end = await (await caller.listen(call.ids[-1])).end()

            assert (end["id"], end["error"]["code"]) == ("mine", -32603)
        await served.is_idle()


@pytest.mark.parametrize("identity", [7, "seven"])
async def test_a_result_that_is_not_kept_any_more_is_an_error(identity: Any) -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    for gate in working.gates:
        gate.set()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            calls = [await caller.call("works", identity=identity)]
            calls += [await caller.call("works") for _ in range(32)]
            for call in calls:
                await call.end()

            again = await caller.listen(calls[0].ids[0])
            end = await again.end()

            assert (end["id"], end["error"]["code"]) == (identity, -32603)
            assert "not kept" in end["error"]["message"]
            assert await again.next() is None
            assert words((await (await caller.listen(calls[1].ids[0])).end())["result"]) == "done"
        await served.is_idle()


@pytest.mark.parametrize("event_id", ["from-before", "g99-1", "42"])
async def test_an_unknown_id_opens_a_new_stream(event_id: str) -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            stream = await caller.listen(event_id)
            fake.shelf.tools["new"] = asks
            fake.tell(CHANGED)

            await stream.heard(CHANGED)
        await served.is_idle()


async def test_a_stream_of_another_session_cannot_be_taken_up() -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    for gate in working.gates:
        gate.set()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as owner, sessioned(served.url) as stranger:
            call = await owner.call("works", identity="secret")
            await call.end()

            again = await stranger.listen(call.ids[0])

            assert "error" in await again.end()
            assert not again.notes
        await served.is_idle()


async def subscribed(caller: SessionedClient) -> None:
    await caller.ask("resources/subscribe", {"uri": ONE})


async def test_what_was_said_while_a_listener_was_away_is_told_when_it_comes_back() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            stream = await caller.listen()
            await subscribed(caller)
            fake.tell(UPDATED, uri=ONE)
            await stream.heard(UPDATED)
            stream.close()
            await until(lambda: not len(served.keeper))
            fake.tell(UPDATED, uri=ONE, number=2)
            fake.shelf.tools["new"] = asks
            fake.tell(CHANGED)
            await served.shows(*served.gateway.views.catalog.value.tools.names, "new")

            again = await caller.listen(stream.ids[-1])

            assert (await again.heard(UPDATED))["params"]["number"] == 2
            await again.heard(CHANGED)
            assert not [note for note in again.notes if note["method"] == UPDATED]
        await served.is_idle()


async def test_a_message_that_was_lost_on_the_way_is_told_again() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            stream = await caller.listen()
            await subscribed(caller)
            for number in range(3):
                fake.tell(UPDATED, uri=ONE, number=number)
                await stream.heard(UPDATED)

            again = await caller.listen(stream.ids[1])

            told = [(await again.heard(UPDATED))["params"]["number"] for _ in range(2)]
            assert told == [1, 2]
            assert await stream.next() is None
        await served.is_idle()


async def test_a_message_goes_to_the_newest_stream_alone() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            oldest, older, newest = [await caller.listen() for _ in range(3)]
            await subscribed(caller)
            fake.tell(UPDATED, uri=ONE)
            await newest.heard(UPDATED)
            newest.close()
            await until(lambda: len(served.keeper) == 2)
            fake.tell(UPDATED, uri=ONE)
            await older.heard(UPDATED)

            await caller.end()

            assert [await oldest.next(), await older.next()] == [None, None]
        await served.is_idle()


LARGE = "x" * 100_000


async def test_a_listener_that_never_reads_costs_bounded_memory_and_nobody_else() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as deaf, sessioned(served.url) as other:
            for each in (deaf, other):
                await subscribed(each)
            await deaf.listen()
            stream = await other.listen()
            for number in range(100):
                fake.tell(UPDATED, uri=ONE, number=number, large=LARGE)
                assert (await stream.heard(UPDATED))["params"]["number"] == number
                assert served.gateway.sessions._archive.held < 2 * 2**20 + 2 * len(LARGE)
        await served.is_idle()


async def test_a_caller_that_never_reads_costs_bounded_memory_and_nobody_else() -> None:
    async def noisy(invocation: Invocation) -> Json:
        for _ in range(100):
            invocation.log("info", LARGE)
        return text("done")

    fake = SessionedFake(noisy=noisy)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as deaf, sessioned(served.url) as other:
            call = await deaf.call("noisy")

            for _ in range(20):
                await other.ask("tools/call", named("echo"))
            assert served.gateway.sessions._archive.held < 2**20 + 2 * len(LARGE)
            call.close()
        await served.is_idle()


@pytest.mark.parametrize("said", [0, 1, 2])
async def test_a_client_that_leaves_in_any_phase_of_a_call_leaves_nothing(said: int) -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call = await caller.request("tools/call", named("works"), Accept=EVENTS_FIRST)
            for gate in working.gates[: max(0, said - 1)]:
                gate.set()
            for _ in range(said):
                await call.heard("notifications/message")
            call.close()
            await left(served)
            for gate in working.gates:
                gate.set()
            await fake.finished.first(bool)
        await served.is_idle()


async def test_a_session_that_ends_while_its_client_is_away_leaves_nothing() -> None:
    working, fake = Working(), SessionedFake()
    fake.shelf.tools["works"] = working
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            call, stream = await caller.call("works"), await caller.listen()
            await call.heard("notifications/message")
            call.close()
            stream.close()
            await until(lambda: len(served.keeper) == 1)
        assert await fake.cancelled.first(bool) == "works"
        await served.is_idle()


async def test_a_client_that_would_rather_have_streams_gets_one_at_once() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with sessioned(served.url) as caller:
            listed = await caller.request("tools/list", Accept=EVENTS_FIRST)
            weighed = await caller.request(
                "ping", Accept="application/json;q=0.5, text/event-stream"
            )
            plain = await caller.request("tools/list")

            assert [each.is_stream for each in (listed, weighed, plain)] == [True, True, False]
            assert (await listed.end())["result"]["tools"]
            assert (await weighed.end())["result"] == {}
            assert len(listed.ids) == 2
        await served.is_idle()


async def test_a_client_that_takes_streams_alone_is_given_its_session() -> None:
    async with gateway_of(config(), awaited=False) as served, sessioned(served.url) as caller:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}

        answer = await caller.send("POST", {"Accept": "text/event-stream"}, message)

        assert answer.is_stream
        assert (await answer.end())["result"]["protocolVersion"] == "2025-11-25"
        assert answer.headers["Mcp-Session-Id"]


async def test_a_single_answer_keeps_nothing() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        await caller.ask("tools/call", named("echo"))
        await caller.ask("tools/list")

        (session,) = served.gateway.sessions._all.values()
        assert session._replays is None


async def test_a_silent_call_that_became_a_stream_can_be_come_back_to() -> None:
    async def works(_: Invocation) -> Json:
        await go_on.wait()
        return text("done")

    go_on, clock, fake = asyncio.Event(), HandClock(), SessionedFake(works=works)
    async with serving(fake), gateway_of(config(fake), clock) as served:
        async with sessioned(served.url) as caller:
            call = caller.call("works")
            await fake.first("tools/call")
            clock.move(10)
            answer = await call
            await answer.comments(1)
            answer.close()
            go_on.set()

            again = await caller.listen(answer.ids[0])

            assert words((await again.end())["result"]) == "done"
        await served.is_idle()
