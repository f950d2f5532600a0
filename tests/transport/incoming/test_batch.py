"""JSON-RPC arrays of clients, through a whole gateway."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.backends import serving
from tests.support.clients import Answer, SessionedClient, sessioned, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text

ARRAYS = "2025-03-26"
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


async def works(invocation: Invocation) -> Json:
    invocation.progress(0.5)
    return text("done")


async def asks(invocation: Invocation) -> Json:
    answer = await invocation.ask("roots/list", {})
    return text(str(answer["result"]["roots"]))


def request(identity: Any, method: str = "tools/call", **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


async def post(client: SessionedClient, *messages: Any) -> Answer:
    return await client.send("POST", {"Mcp-Session-Id": client.session}, list(messages))


def by_id(found: Any) -> dict[Any, Json]:
    return {message["id"]: message for message in found}


async def test_each_request_is_answered_in_one_array() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, version=ARRAYS) as client,
    ):
        answer = await post(
            client,
            request(1, name="echo"),
            INITIALIZED,
            request("x", "ping"),
            request(2, "no/such"),
        )
        found = by_id(await answer.next() or ())

    assert not answer.is_stream
    assert words(found[1]["result"]) == "{}"
    assert found["x"]["result"] == {}
    assert found[2]["error"]["code"] == -32601
    assert len(found) == 3


async def test_what_comes_before_the_answers_makes_a_stream_that_ends_with_them() -> None:
    fake = SessionedFake(works=works)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, version=ARRAYS) as client,
    ):
        called = request(1, name="works", _meta={"progressToken": "t"})
        answer = await post(client, called, request(2, "ping"))

        note = await answer.next() or {}
        found = by_id(await answer.next() or ())

    assert note["params"] == {"progressToken": "t", "progress": 0.5}
    assert words(found[1]["result"]) == "done"
    assert found[2]["result"] == {}


async def test_a_question_is_put_on_the_stream_and_answered_in_an_array() -> None:
    fake = SessionedFake(asks=asks)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, {"roots": {}}, version=ARRAYS) as client,
    ):
        answer = await post(client, request(1, name="asks"))
        asked = await answer.heard("roots/list")
        told = await post(client, {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})

        assert (told.status, told.raw) == (202, b"")
        (end,) = await answer.next() or ()
        assert words(end["result"]) == "[]"


async def test_notifications_alone_are_accepted_without_a_body() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, version=ARRAYS) as client,
    ):
        answer = await post(client, INITIALIZED, INITIALIZED)

        assert answer.status == 202
        assert await answer.next() is None


async def test_what_is_no_message_spoils_no_other() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, version=ARRAYS) as client,
    ):
        answer = await post(client, 1, [request(2, "ping")], request(1, "ping"))
        found = await answer.next() or ()

    codes = sorted(message.get("error", {}).get("code", 0) for message in found)
    assert codes == [-32700, -32600, 0]


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([], id="no message"),
        pytest.param([request(n, "ping") for n in range(101)], id="too many"),
        pytest.param([request(1, "initialize"), request(2, "ping")], id="initialize"),
    ],
)
async def test_an_array_that_may_not_be_is_refused_whole(messages: list[Json]) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, version=ARRAYS) as client,
    ):
        answer = await post(client, *messages)
        found = await answer.next() or {}

    assert (answer.status, found["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2024-11-05"])
async def test_other_revisions_know_no_arrays(version: str) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url, version=version) as client,
    ):
        answer = await post(client, request(1, "ping"))
        found = json.loads((await answer.next() and answer.raw) or b"{}")

    assert (answer.status, found["error"]["code"]) == (400, -32600)
