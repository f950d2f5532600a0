"""The access log: a line for each request where it is on, with names and numbers and nothing secret."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.journeys.pairs import SESSIONED, client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import Client, named, sessioned, stateless
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import until

ON = {"operational": {"accessLog": True}}


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(each) for each in caplog.records if each.name == "vmcp.access"]


async def line_of(caplog: pytest.LogCaptureFixture, **having: Any) -> dict[str, Any]:
    """Wait for the line with these fields."""

    def found() -> list[dict[str, Any]]:
        return [one for one in lines(caplog) if having.items() <= one.items()]

    await until(found)
    return found()[0]


@asynccontextmanager
async def logged(
    front: str = SESSIONED, **tools: Any
) -> AsyncIterator[tuple[Served, Client, SessionedFake]]:
    fake = SessionedFake(**tools)
    async with (
        serving(fake),
        gateway_of(config(fake, **ON)) as served,
        client(front, served.url) as caller,
    ):
        yield served, caller, fake


@in_both_fronts
async def test_a_call_has_a_line_that_says_who_what_where_and_how_long(
    front: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with logged(front) as (_, caller, _):
        answer = await caller.request("tools/call", named("echo"), **{"X-Request-Id": "r-1"})
        await answer.end()

        line = await line_of(caplog, request_id="r-1")

    assert line["message"] == "request"
    told = {
        name: line[name]
        for name in ("http_method", "status", "era", "method", "tool", "backend", "outcome", "peer")
    }
    assert told == {
        "http_method": "POST",
        "status": 200,
        "era": front,
        "method": "tools/call",
        "tool": "echo",
        "backend": "a",
        "outcome": "ok",
        "peer": "127.0.0.1",
    }
    assert line["milliseconds"] > 0
    assert line["received_bytes"] > 0
    assert line["sent_bytes"] == len(answer.raw)


async def test_a_session_is_told_by_a_hash_and_never_by_its_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with logged() as (_, caller, _):
        session = caller.session
        await caller.ask("ping")
        hashes = {(await line_of(caplog, method=one))["session"] for one in ("initialize", "ping")}

    assert len(hashes) == 1
    assert session not in "".join(json.dumps(vars(each), default=str) for each in caplog.records)


async def test_arguments_results_and_uris_are_in_no_line(caplog: pytest.LogCaptureFixture) -> None:
    fake = SessionedFake()
    fake.shelf.resources["note://hunter2"] = "hunter3"
    async with (
        serving(fake),
        gateway_of(config(fake, **ON)) as served,
        stateless(served.url) as caller,
    ):
        await caller.ask("resources/read", {"uri": "note://hunter2"})
        await caller.ask("tools/call", {"name": "echo", "arguments": {"text": "hunter4"}})
        await line_of(caplog, method="tools/call")

    told = json.dumps(lines(caplog), default=str)
    assert "hunter" not in told


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("unknown", {"outcome": "error", "reason": "-32602", "tool": "unknown"}),
        ("x" * 500, {"outcome": "error", "tool": "x" * 128}),
    ],
    ids=["unknown", "long"],
)
async def test_what_went_wrong_is_told_and_names_are_cut_short(
    name: str, fields: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with logged() as (_, caller, _):
        await caller.refused("tools/call", named(name))

        assert await line_of(caplog, method="tools/call", **fields)


async def test_a_backend_that_failed_is_named_with_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with logged() as (_, caller, fake):
        await fake.stop()
        error = await caller.refused("tools/call", named("echo"))

        line = await line_of(caplog, outcome="failed")

    assert (line["backend"], line["reason"]) == ("a", error["data"]["reason"])


async def test_requests_that_are_refused_have_a_line_too(caplog: pytest.LogCaptureFixture) -> None:
    async with logged() as (_, caller, _):
        await caller.send("POST", {"Host": "elsewhere.test"}, {"jsonrpc": "2.0"})
        await caller.send("PUT", {})

        assert (await line_of(caplog, status=421))["outcome"] == "error"
        assert (await line_of(caplog, status=405))["http_method"] == "PUT"


async def test_a_stream_has_its_line_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    async with logged() as (served, caller, _):
        stream = await caller.listen()
        assert not [each for each in lines(caplog) if each.get("http_method") == "GET"]
        served.gateway.sessions.close_streams()
        await stream.next()

        assert (await line_of(caplog, http_method="GET"))["status"] == 200


async def test_each_message_of_an_array_has_a_line(caplog: pytest.LogCaptureFixture) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake, **ON)) as served,
        sessioned(served.url, version="2025-03-26") as caller,
    ):
        messages = [
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": named("echo")}
            for number in (1, 2)
        ]
        answer = await caller.send("POST", caller._headers, messages)
        await answer.next()
        await until(lambda: len([1 for each in lines(caplog) if each.get("tool")]) == 2)


async def test_it_is_off_by_default_and_turned_on_and_off_while_the_gateway_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        await caller.ask("tools/list")
        assert lines(caplog) == []

        served.apply(config(fake, **ON))
        await until(lambda: served.gateway.accounts.is_on)
        await caller.ask("tools/list")
        await line_of(caplog, method="tools/list")
        served.apply(config(fake))
        await until(lambda: not served.gateway.accounts.is_on)
        caplog.clear()
        await caller.ask("tools/list")

        assert lines(caplog) == []


async def test_its_lines_do_not_hang_on_the_log_level(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("vmcp").setLevel(logging.ERROR)
    async with logged() as (_, caller, _):
        await caller.ask("ping")

        assert await line_of(caplog, method="ping")
    logging.getLogger("vmcp").setLevel(logging.NOTSET)
