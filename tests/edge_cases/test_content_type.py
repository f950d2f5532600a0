"""Content types are compared without parameters and case on the way in, and sent bare on the way out."""

from __future__ import annotations

import pytest

from tests.edge_cases.front import META, behind, door, request
from tests.support.scripted import (
    EVENTS,
    SESSIONED,
    STATELESS,
    Heard,
    Scripted,
    events,
    http,
    message,
    scripted,
    text,
)


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        "APPLICATION/JSON ;charset=UTF-8",
        "application/json;",
    ],
)
async def test_json_is_taken_whatever_its_case_and_parameters(kind: str) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.stateless("server/discover", content_type=kind)

        assert seen.status == 200


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "text/plain; charset=application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "application/json-rpc",
        "json",
        "",
        None,
    ],
)
async def test_everything_else_is_refused_with_what_to_send(kind: str | None) -> None:
    async with door(behind()) as gateway:
        for body in (request("server/discover", {"_meta": META}), request("initialize", {})):
            seen = await gateway.post(body, content_type=kind)

            assert seen.status == 415
            assert b"application/json" in seen.body


@pytest.mark.parametrize("era", [SESSIONED, STATELESS])
async def test_a_backend_that_takes_the_bare_type_alone_is_served(era: str) -> None:
    backend = Scripted(era)

    def strict(heard: Heard) -> bytes:
        if heard.http == "POST" and heard.all("content-type") != ["application/json"]:
            return http(415)
        return backend.behaves(heard)

    backend.script["else"] = strict
    async with scripted(backend), door(behind(backend)) as gateway:
        assert await gateway.tools() == ["a_echo"]
        assert (await gateway.call("a_echo")).result["content"] == text("echo")["content"]
        assert not [heard for heard in backend.asked("GET") if heard.all("content-type")]


@pytest.mark.parametrize(
    "kind", [f"{EVENTS};charset=utf-8", "Text/Event-Stream; Charset=UTF-8", EVENTS]
)
async def test_a_stream_is_known_whatever_its_case_and_parameters(kind: str) -> None:
    backend = Scripted()
    backend.script["tools/call"] = lambda heard: events(
        message(heard.message["id"], result=text("streamed")), kind=kind
    )
    async with scripted(backend), door(behind(backend)) as gateway:
        assert (await gateway.call("a_echo")).result["content"] == text("streamed")["content"]


@pytest.mark.parametrize("kind", ["application/json;charset=utf-8", "APPLICATION/JSON"])
async def test_an_answer_in_json_is_known_whatever_its_case_and_parameters(kind: str) -> None:
    backend = Scripted()
    backend.script["tools/call"] = lambda heard: http(
        200, message(heard.message["id"], result=text("plain")), kind
    )
    async with scripted(backend), door(behind(backend)) as gateway:
        assert (await gateway.call("a_echo")).result["content"] == text("plain")["content"]
