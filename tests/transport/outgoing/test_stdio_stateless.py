from __future__ import annotations

import asyncio
import json

import pytest

from tests.support.stdio_servers.harness import (
    SECONDS,
    Heard,
    KeptReply,
    call,
    carry,
    sessioned_client,
    speaking,
    stateless_client,
    value,
)
from vmcp.protocol.call import Ask, Retry
from vmcp.protocol.document import split
from vmcp.transport.outgoing.speech import Refused, Speech

pytestmark = pytest.mark.usefixtures("nothing_left")

ERA = ("--era", "stateless")
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


async def seen(speech: Speech, method: str) -> list[dict]:
    """Return the messages of one kind that the server got."""
    messages = value(await call(speech, "seen"))
    return [message for message in messages if message.get("method") == method]


async def test_what_the_client_declared_travels_with_each_call() -> None:
    async with speaking(*ERA) as speech:
        await call(speech, "echo", stateless_client(b'{"sampling":{"tools":{}}}', log_level="info"))

        meta = (await seen(speech, "tools/call"))[0]["params"]["_meta"]
    assert meta[CAPABILITIES] == {"sampling": {"tools": {}}}
    assert meta[VERSION] == "2026-07-28"
    assert meta["io.modelcontextprotocol/logLevel"] == "info"


async def test_a_sessioned_client_declares_what_can_be_carried_across() -> None:
    async with speaking(*ERA) as speech:
        await call(speech, "echo", sessioned_client(b'{"elicitation":{},"tasks":{"list":{}}}'))

        meta = (await seen(speech, "tools/call"))[0]["params"]["_meta"]
    assert meta[CAPABILITIES] == {"elicitation": {}}
    assert meta[VERSION] == "2026-07-28"


async def test_what_the_server_needs_of_the_client_ends_the_call_as_an_ask() -> None:
    client = stateless_client(b'{"elicitation":{}}')
    async with speaking(*ERA) as speech:
        ask = await call(
            speech, "ask", client, method="elicitation/create", params={"message": "?"}
        )

        assert isinstance(ask, Ask)
        assert ask.resume == Retry(b'"state"')
        assert (ask.requests[0].key, ask.requests[0].method) == ("it", "elicitation/create")

        retry = {
            "name": "ask",
            "arguments": {"method": "elicitation/create"},
            "inputResponses": {"it": {"action": "accept"}},
            "requestState": "state",
        }
        done = await carry(speech, split(json.dumps(retry).encode()), client)
    assert value(done) == {"answers": {"it": {"action": "accept"}}, "state": "state"}


async def test_progress_comes_to_its_call_with_the_token_of_its_client() -> None:
    reply = KeptReply()
    async with speaking(*ERA) as speech:
        await call(speech, "progress", reply=reply, progress_token=b"7", steps=2)

    told = [json.loads(note.params) for note in reply.notes]
    assert [(one["progressToken"], one["progress"]) for one in told] == [(7, 1), (7, 2)]


async def test_log_messages_come_only_to_a_call_that_asked_for_them() -> None:
    asked, silent = KeptReply(), KeptReply()
    async with speaking(*ERA) as speech:
        await call(speech, "log", stateless_client(log_level="debug"), asked, levels=["info"])
        await call(speech, "log", stateless_client(), silent, levels=["info"])

    assert [note.method for note in asked.notes] == ["notifications/message"]
    assert silent.notes == []


async def test_a_cancelled_call_is_cancelled_at_the_server() -> None:
    async with speaking(*ERA) as speech:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await call(speech, "hang")

        hung, *_ = await seen(speech, "tools/call")
        (cancelled,) = await seen(speech, "notifications/cancelled")
    assert cancelled["params"] == {"requestId": hung["id"]}


async def test_nothing_is_answered_to_a_server_that_asks_against_the_rules() -> None:
    async with speaking(*ERA) as speech:
        await call(speech, "request", method="ping")

        messages = value(await call(speech, "seen"))
    assert all("method" in message for message in messages)


async def test_one_subscription_tells_of_changes_and_updates() -> None:
    heard = Heard()
    async with speaking(*ERA) as speech, heard.listening(speech):
        await call(speech, "change", what="tools")
        message = await heard.messages.get()

        (listen,) = await seen(speech, "subscriptions/listen")
    assert message.method == "notifications/tools/list_changed"
    assert listen["params"]["notifications"] == {
        "toolsListChanged": True,
        "promptsListChanged": True,
        "resourcesListChanged": True,
    }


async def test_another_subscription_takes_its_place_when_the_resources_change() -> None:
    heard, opened = Heard(), []
    async with speaking(*ERA) as speech, asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(
            speech.listen(
                heard.messages.put_nowait, lambda: (opened.append(1), heard.is_open.set())
            )
        )
        await heard.is_open.wait()
        await speech.subscribe("file:///a")
        await speech.subscribe("file:///b")
        while len(listens := await seen(speech, "subscriptions/listen")) < 2:
            continue
        await call(speech, "change", what="resource", uri="file:///a")
        update = await heard.messages.get()
        cancelled = await seen(speech, "notifications/cancelled")
        task.cancel()

    assert listens[-1]["params"]["notifications"]["resourceSubscriptions"] == [
        "file:///a",
        "file:///b",
    ]
    assert [one["params"]["requestId"] for one in cancelled] == [one["id"] for one in listens[:-1]]
    assert json.loads(update.params.join())["uri"] == "file:///a"
    assert opened == [1]


async def test_a_resource_that_is_unsubscribed_is_asked_for_no_more() -> None:
    heard = Heard()
    async with speaking(*ERA) as speech:
        await speech.subscribe("file:///a")
        await speech.unsubscribe("file:///a")
        async with heard.listening(speech):
            (listen,) = await seen(speech, "subscriptions/listen")

    assert "resourceSubscriptions" not in listen["params"]["notifications"]


async def test_a_subscription_that_the_server_ends_may_be_opened_again() -> None:
    heard = Heard()
    async with speaking(*ERA) as speech, asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(speech.listen(heard.messages.put_nowait, heard.is_open.set))
        await heard.is_open.wait()
        await call(speech, "stop_listening")

        assert await listening is None


async def test_a_server_without_subscriptions_is_attended_all_the_same_and_its_loss_is_told() -> (
    None
):
    heard = Heard()
    async with speaking(*ERA, "--no-listen") as speech, heard.listening(speech):
        await call(speech, "change", what="tools")

        assert (await heard.messages.get()).method == "notifications/tools/list_changed"


async def test_resources_are_not_subscribed_where_the_server_does_not_offer_it() -> None:
    async with speaking(*ERA, "--no-subscribe") as speech:
        with pytest.raises(Refused):
            await speech.subscribe("file:///a")
