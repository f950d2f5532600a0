from __future__ import annotations

import asyncio
import json

import pytest

from tests.support.stdio_servers.harness import (
    SECONDS,
    Heard,
    KeptReply,
    call,
    connector,
    sessioned_client,
    speaking,
    stateless_client,
    value,
)
from vmcp.protocol.call import Answer, Ask, Client, Live, Note
from vmcp.protocol.document import EMPTY
from vmcp.transport.outgoing.speech import Refused, Speech

pytestmark = pytest.mark.usefixtures("nothing_left")

ERA = ("--era", "sessioned")
CAN_ELICIT = b'{"elicitation":{}}'


async def seen(speech: Speech, method: str) -> list[dict]:
    """Return the params of the messages of one kind that the server got."""
    messages = value(await call(speech, "seen"))
    return [message.get("params", {}) for message in messages if message.get("method") == method]


async def test_the_session_is_opened_as_ours_with_the_widest_capabilities() -> None:
    async with speaking(*ERA) as speech:
        (params,) = await seen(speech, "initialize")

    assert params["clientInfo"]["name"] == "vmcp"
    assert sorted(params["capabilities"]) == ["elicitation", "roots", "sampling"]


async def test_many_calls_share_the_process_and_each_gets_its_own_answer() -> None:
    async with speaking(*ERA) as speech, asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(call(speech, "echo", at=at)) for at in range(50)]
        await asyncio.wait(calls)

    assert [value(one.result()) for one in calls] == [{"at": at} for at in range(50)]


async def test_a_call_that_waits_holds_up_no_other_one() -> None:
    async with speaking(*ERA) as speech, asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(call(speech, "hang"))
        assert value(await call(speech, "echo", a=1)) == {"a": 1}
        await call(speech, "release")

        assert value(await waiting) == "released"


async def test_progress_comes_to_its_call_with_the_token_of_its_client() -> None:
    reply = KeptReply()
    async with speaking(*ERA) as speech:
        await call(speech, "progress", reply=reply, progress_token=b'"mine"', steps=3)

    told = [json.loads(note.params) for note in reply.notes]
    assert [(one["progressToken"], one["progress"]) for one in told] == [
        ("mine", 1),
        ("mine", 2),
        ("mine", 3),
    ]


async def test_a_cancelled_call_is_cancelled_at_the_server() -> None:
    async with speaking(*ERA) as speech:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await call(speech, "hang")

        (cancelled,) = await seen(speech, "notifications/cancelled")
        hung, *_ = await seen(speech, "tools/call")
        assert hung["name"] == "hang"
        assert isinstance(cancelled["requestId"], int)
        assert value(await call(speech, "release")) == "done"


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("elicitation/create", "elicitation"),
        ("sampling/createMessage", "sampling"),
        ("roots/list", "roots"),
    ],
)
async def test_what_the_server_asks_during_a_call_is_answered_by_its_client(
    method: str, capability: str
) -> None:
    async def answer(_: Ask) -> Answer:
        return Answer(b'{"action":"accept"}')

    reply, client = KeptReply(answer), sessioned_client(b'{"%b":{}}' % capability.encode())
    async with speaking(*ERA) as speech:
        done = await call(speech, "ask", client, reply, method=method, params={"message": "?"})

    assert value(done) == {"result": {"action": "accept"}}
    (ask,) = reply.asks
    assert isinstance(ask.resume, Live)
    assert ask.requests[0].method == method
    assert json.loads(ask.requests[0].params or b"") == {"message": "?"}


async def test_the_error_of_a_client_that_was_asked_goes_to_the_server() -> None:
    async def answer(_: Ask) -> Answer:
        return Answer(b'{"code":-1,"message":"no"}', is_error=True)

    async with speaking(*ERA) as speech:
        done = await call(
            speech,
            "ask",
            sessioned_client(CAN_ELICIT),
            KeptReply(answer),
            method="elicitation/create",
        )

    assert value(done) == {"error": {"code": -1, "message": "no"}}


async def test_the_clock_of_a_call_stops_while_a_person_answers() -> None:
    async def answer(_: Ask) -> Answer:
        assert reply.deadline._timeout is not None
        assert reply.deadline._timeout.when() is None
        return Answer(b"{}")

    reply = KeptReply(answer)
    async with speaking(*ERA) as speech:
        done = await call(
            speech, "ask", sessioned_client(CAN_ELICIT), reply, method="elicitation/create"
        )

    assert value(done) == {"result": {}}


async def test_a_question_that_is_taken_back_is_taken_from_the_client() -> None:
    asked, dropped = asyncio.Event(), asyncio.Event()

    async def answer(_: Ask) -> Answer:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            dropped.set()
        raise AssertionError

    async with speaking(*ERA) as speech, asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
        client = sessioned_client(CAN_ELICIT)
        waiting = tasks.create_task(
            call(speech, "ask", client, KeptReply(answer), method="elicitation/create")
        )
        await asked.wait()
        await call(speech, "unask")
        await dropped.wait()

        assert value(await waiting) == "taken back"


@pytest.mark.parametrize(
    "client",
    [sessioned_client(), sessioned_client(b'{"sampling":{}}'), stateless_client()],
    ids=["no capability", "another capability", "no capability in the other era"],
)
async def test_a_question_to_a_client_that_cannot_be_asked_is_refused_and_the_call_goes_on(
    client: Client,
) -> None:
    reply = KeptReply()
    async with speaking(*ERA) as speech:
        done = await call(speech, "ask", client, reply, method="elicitation/create")

    assert value(done)["error"]["code"] == -32601
    assert reply.asks == []


async def test_a_question_is_refused_where_two_calls_could_have_asked_it() -> None:
    client, reply = sessioned_client(CAN_ELICIT), KeptReply()
    async with speaking(*ERA) as speech, asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(call(speech, "hang", client))
        await call(speech, "echo", client)
        done = await call(speech, "ask", client, reply, method="elicitation/create")
        await call(speech, "release")
        await waiting

    assert "error" in value(done)
    assert reply.asks == []


@pytest.mark.parametrize(
    ("method", "answer"),
    [("ping", {"result": {}}), ("roots/list", {"result": {"roots": []}})],
)
async def test_what_concerns_no_client_we_answer_ourselves(method: str, answer: dict) -> None:
    async with speaking(*ERA) as speech:
        await call(speech, "request", method=method)
        messages = value(await call(speech, "seen"))

    (got,) = [message for message in messages if message.get("id") == "by-the-way"]
    assert got == {"jsonrpc": "2.0", "id": "by-the-way", **answer}


async def test_log_messages_come_to_the_call_that_is_alone_in_flight() -> None:
    reply = KeptReply()
    async with speaking(*ERA) as speech:
        await call(speech, "log", reply=reply, levels=["info", "error"])

    assert reply.notes == [
        Note("notifications/message", b'{"level":"info","data":"info"}'),
        Note("notifications/message", b'{"level":"error","data":"error"}'),
    ]


async def test_the_server_is_told_the_most_verbose_level_and_each_client_gets_its_share() -> None:
    quiet, curious = sessioned_client(log_level="error"), sessioned_client(log_level="debug")
    quiet_reply, curious_reply = KeptReply(), KeptReply()
    async with speaking(*ERA) as speech:
        await speech.set_level(quiet)
        await speech.set_level(curious)
        await call(speech, "log", quiet, quiet_reply, levels=["debug", "error"])
        await call(speech, "log", curious, curious_reply, levels=["debug", "error"])
        await speech.release(curious)

        assert await seen(speech, "logging/setLevel") == [
            {"level": "error"},
            {"level": "debug"},
            {"level": "error"},
        ]
    assert [json.loads(note.params)["level"] for note in quiet_reply.notes] == ["error"]
    assert [json.loads(note.params)["level"] for note in curious_reply.notes] == ["debug", "error"]


async def test_the_level_of_a_call_is_told_once_and_again_to_the_next_process() -> None:
    at, client = connector(*ERA), stateless_client(log_level="info")
    async with at.connect() as speech:
        for _ in range(2):
            await call(speech, "echo", client)
        assert await seen(speech, "logging/setLevel") == [{"level": "info"}]

    async with at.connect() as speech:
        assert await seen(speech, "logging/setLevel") == [{"level": "info"}]


async def test_changes_are_heard_by_the_listener() -> None:
    heard = Heard()
    async with speaking(*ERA) as speech, heard.listening(speech):
        await call(speech, "change", what="tools")
        await speech.subscribe("file:///a")
        await call(speech, "change", what="resource", uri="file:///a")

        found = [await heard.messages.get() for _ in range(2)]
        assert await seen(speech, "resources/subscribe") == [{"uri": "file:///a"}]

    assert [message.method for message in found] == [
        "notifications/tools/list_changed",
        "notifications/resources/updated",
    ]


async def test_a_subscription_is_ended_at_the_server() -> None:
    async with speaking(*ERA) as speech:
        await speech.subscribe("file:///a")
        await speech.unsubscribe("file:///a")

        assert await seen(speech, "resources/unsubscribe") == [{"uri": "file:///a"}]


async def test_what_one_client_says_of_itself_is_not_said_for_all() -> None:
    async with speaking(*ERA) as speech:
        await speech.notify(sessioned_client(), "notifications/roots/list_changed", None)

        assert await seen(speech, "notifications/roots/list_changed") == []


async def test_an_error_to_a_request_of_our_own_is_raised() -> None:
    async with speaking(*ERA) as speech:
        with pytest.raises(Refused) as refused:
            await speech.ask("prompts/list", EMPTY)

    assert refused.value.code == -32601
