"""What a client accepts is read with wildcards and weights, the same way in both eras."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.edge_cases.front import META, VERSION, Door, Seen, behind, door, request
from tests.support.scripted import (
    SESSIONED,
    STATELESS,
    Heard,
    Json,
    Scripted,
    events,
    message,
    scripted,
    text,
)

JSON, STREAM = "application/json", "text/event-stream"
BOTH = "application/json, text/event-stream"

POSTS = [
    pytest.param(BOTH, {JSON, STREAM}, id="both"),
    pytest.param("*/*", {JSON, STREAM}, id="anything"),
    pytest.param("application/*, text/*", {JSON, STREAM}, id="ranges"),
    pytest.param("application/json, text/event-stream;q=0.5", {JSON, STREAM}, id="a weight"),
    pytest.param("Application/JSON;q=1.0,TEXT/EVENT-STREAM", {JSON, STREAM}, id="any case"),
    pytest.param(
        "application/json;charset=utf-8, text/event-stream", {JSON, STREAM}, id="a parameter"
    ),
    pytest.param(None, {JSON, STREAM}, id="none"),
    pytest.param("", {JSON, STREAM}, id="empty"),
    pytest.param("application/json", {JSON}, id="JSON alone"),
    pytest.param("application/*", {JSON}, id="application alone"),
    pytest.param("text/event-stream;q=0, application/json", {JSON}, id="no stream"),
    pytest.param("*/*, text/event-stream;q=0.000", {JSON}, id="anything but a stream"),
    pytest.param("text/html, application/json;q=0.9", {JSON}, id="a browser's"),
    pytest.param("text/event-stream", {STREAM}, id="a stream alone"),
    pytest.param("text/*;q=0.1", {STREAM}, id="text alone"),
    pytest.param("application/json;q=0, */*", {STREAM}, id="anything but JSON"),
]
REFUSED = [
    pytest.param("text/html", id="HTML"),
    pytest.param("application/xml, image/*", id="others"),
    pytest.param("*/*;q=0", id="nothing"),
    pytest.param("application/json;q=0, text/event-stream;q=0", id="neither"),
    pytest.param("application/json;q=x", id="no number"),
    pytest.param("application/json;q=nan", id="not a number"),
    pytest.param("application/jsonx", id="a longer name"),
]


def noisy(era: str) -> Scripted:
    """Return a backend whose tool logs before it answers."""
    backend = Scripted(era)

    def answer(heard: Heard) -> bytes:
        more: Json = {"resultType": "complete"} if era == STATELESS else {}
        told = message(None, method="notifications/message", params={"level": "info", "data": 1})
        return events(told, message(heard.message["id"], result={**text("done"), **more}))

    backend.script["tools/call"] = answer
    return backend


async def call(gateway: Door, era: str, headers: Mapping[str, str | None]) -> Seen:
    if era == STATELESS:
        meta = {**META, "io.modelcontextprotocol/logLevel": "debug"}
        params = {"name": "a_echo", "_meta": meta}
        told = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": "a_echo"}
    else:
        params, told = {"name": "a_echo"}, await gateway.session()
    return await gateway.post(request("tools/call", params), {**told, **headers})


@pytest.mark.parametrize("era", [SESSIONED, STATELESS])
@pytest.mark.parametrize(("accept", "kinds"), POSTS)
async def test_an_answer_is_of_a_kind_that_is_accepted(
    era: str, accept: str | None, kinds: set[str]
) -> None:
    backend = noisy(era)

    async with scripted(backend), door(behind(backend)) as gateway:
        seen = await call(gateway, era, {"accept": accept})

    assert seen.status == 200
    assert seen.kind in kinds
    assert seen.result["content"] == text("done")["content"]
    assert len(seen.messages) == (2 if STREAM in kinds else 1)


@pytest.mark.parametrize("era", [SESSIONED, STATELESS])
@pytest.mark.parametrize("accept", REFUSED)
async def test_a_refusal_says_what_to_send(era: str, accept: str) -> None:
    async with door(behind()) as gateway:
        seen = await call(gateway, era, {"accept": accept})

        assert seen.status == 406
        assert b"Accept: application/json, text/event-stream" in seen.body


@pytest.mark.parametrize("accept", [None, "*/*", "text/*", "text/event-stream;q=0.1", BOTH])
async def test_a_stream_of_changes_is_opened_where_it_is_accepted(accept: str | None) -> None:
    async with door(behind()) as gateway:
        headers = {"host": "localhost", **(await gateway.session()), "accept": accept}
        status, kind = await gateway.opened("GET", headers)

    assert (status, kind) == (200, STREAM)


@pytest.mark.parametrize(
    "accept", ["application/json", "text/event-stream;q=0", "text/html", "*/*;q=0"]
)
async def test_a_stream_that_is_not_accepted_is_refused_with_what_to_send(accept: str) -> None:
    async with door(behind()) as gateway:
        headers = {"host": "localhost", **(await gateway.session()), "accept": accept}
        seen = await gateway.send("GET", headers)

    assert seen.status == 406
    assert b"Accept: text/event-stream" in seen.body


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream;q=0, */*"])
async def test_a_subscription_that_is_not_accepted_is_refused_with_what_to_send(
    accept: str,
) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.stateless("subscriptions/listen", {"notifications": {}}, accept=accept)

    assert seen.status == 406
    assert b"Accept: text/event-stream" in seen.body


async def test_accept_may_stand_on_several_lines() -> None:
    lines = [("accept", JSON), ("accept", STREAM), ("host", "localhost"), ("content-type", JSON)]
    backend = noisy(SESSIONED)

    async with scripted(backend), door(behind(backend)) as gateway:
        session = list((await gateway.session()).items())
        body = message(1, method="tools/call", params={"name": "a_echo"})
        seen = await gateway.send("POST", [*lines, *session], body)
        asked = await gateway.send("POST", [*lines, *session], message(2, method="ping"))

    assert seen.kind == STREAM
    assert asked.kind == JSON
