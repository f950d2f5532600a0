"""What operators see: status without addresses and secrets, request ids that lead to log lines."""

from __future__ import annotations

import json
import logging

import pytest

from tests.journeys.pairs import SESSIONED, STATELESS, client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import Answer, SessionedClient, named, sessioned, stateless
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.stateless_backend import StatelessFake
from tests.support.waiting import until

SECRETS = {"TOKEN": "tok-3cr3t", "HEADER": "hdr-3cr3t"}


async def test_the_status_shows_every_backend_and_neither_address_nor_secret() -> None:
    a, b = SessionedFake(), StatelessFake()
    auth = {"type": "bearer_token", "bearerToken": {"tokenEnv": "TOKEN"}}
    secret = {"addHeadersFromSecret": [{"headerName": "X-Key", "valueEnv": "HEADER"}]}
    settings = {"each": {"headerForward": secret}, "outgoingAuth": {"default": auth}}
    async with (
        serving(a, b),
        gateway_of(config(a, b, **settings), environment=SECRETS) as served,
        sessioned(served.url) as caller,
    ):
        await caller.ask("tools/call", named("a_echo"))

        shown = served.status()

    told = json.dumps(shown)
    assert a.heard.all[0].headers["authorization"] == "Bearer tok-3cr3t"
    assert a.heard.all[0].headers["x-key"] == "hdr-3cr3t"
    assert not any(hidden in told for hidden in ("3cr3t", "127.0.0.1", "http:", str(a.port)))
    assert [(each["name"], each["era"]) for each in shown["backends"]] == [
        ("a", SESSIONED),
        ("b", STATELESS),
    ]
    assert [(each["object"], each["auth"]) for each in shown["backends"]] == [
        (f"Backend/{name}", {"type": "bearerToken", "from": "default"}) for name in "ab"
    ]
    assert (shown["ready"], shown["sessions"], shown["catalog"]["tools"]) == (True, 1, 2)


async def test_the_status_counts_the_calls_under_way() -> None:
    async def looks(_: Invocation) -> Json:
        return text(str(served.status()["backends"][0]["calls"]))

    fake = SessionedFake(looks=looks)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        result = await caller.ask("tools/call", named("looks"))

        assert result["content"][0]["text"] == "1"
        assert served.status()["backends"][0]["calls"] == 0


@in_both_fronts
async def test_a_request_id_is_echoed_and_stands_in_the_line_of_the_failed_call(
    front: str, caplog: pytest.LogCaptureFixture
) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        fine = await caller.request("tools/call", named("echo"), **{"X-Request-Id": "fine-1"})
        await fake.stop()
        failed = await caller.request("tools/call", named("echo"), **{"X-Request-Id": "bad/1"})
        error = (await failed.end())["error"]

    lines = [vars(each) for each in caplog.records if each.message == "call failed"]
    assert [line["request_id"] for line in lines] == ["bad/1"]
    assert lines[0]["backend"] == "a"
    assert lines[0]["reason"] == error["data"]["reason"]
    assert [each.headers["x-request-id"] for each in (fine, failed)] == ["fine-1", "bad/1"]


async def test_each_answer_tells_the_id_under_which_it_is_logged() -> None:
    async def talks(invocation: Invocation) -> Json:
        invocation.log("info", "at work")
        return text("done")

    fake = SessionedFake(talks=talks)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as old,
        stateless(served.url) as new,
    ):
        answers = [await _various(old, number) for number in range(6)]
        answers += [await new.request("nonsense"), await new.listen(toolsListChanged=True)]

        told = [answer.headers.get("x-request-id") for answer in answers]

    assert None not in told
    assert len(set(told)) == len(told)


async def _various(caller: SessionedClient, number: int) -> Answer:
    match number:
        case 0:
            return await caller.request("tools/call", named("talks"))
        case 1:
            return await caller.listen()
        case 2:
            return await caller.request("nonsense")
        case 3:
            return await caller.send("POST", {"Mcp-Session-Id": "unknown"}, {"jsonrpc": "2.0"})
        case 4:
            return await caller.send("PUT", {})
    return await caller.send("POST", caller._headers, {"jsonrpc": "2.0", "method": "n"})


@pytest.mark.parametrize("given", ["a b", "x" * 129, "", "ü"], ids=["space", "long", "none", "ü"])
async def test_an_id_that_cannot_be_logged_is_replaced(given: str) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        answer = await caller.request("tools/list", **{"X-Request-Id": given})

        assert answer.headers["x-request-id"] not in ("", given)


async def test_what_clients_do_wrong_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        caplog.clear()
        caplog.set_level(logging.INFO)

        await caller.refused("tools/call", named("nothing"))
        await caller.refused("nonsense")

    assert [each.message for each in caplog.records if each.levelno >= logging.WARNING] == []


async def test_a_backend_is_logged_when_it_is_lost_and_found_and_not_in_between(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "vmcp")
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        await fake.stop()
        await until(lambda: served.status()["backends"][0]["state"] == "degraded")
        async with sessioned(served.url) as caller:
            stream = await caller.listen()
            fake.shelf.prompts.append("greet")
            await fake.start(fake.port)
            await stream.heard("notifications/prompts/list_changed")

    told = [each.message for each in caplog.records if each.name.endswith("vitals")]
    assert told == ["backend is ready", "backend is lost", "backend is ready"]


async def test_the_endpoint_is_served_with_a_slash_at_its_end_as_well() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(f"{served.url}/") as caller,
    ):
        assert await caller.tools() == ["echo"]


async def test_it_is_healthy_at_once_and_ready_after_the_first_lists() -> None:
    fake = SessionedFake()
    gate = fake.hold("server/discover")
    async with (
        serving(fake),
        gateway_of(config(fake), awaited=False) as served,
        stateless(served.url) as caller,
    ):
        base = served.url.removesuffix("/mcp")

        async def probe(path: str) -> int:
            return (await caller.send("GET", {}, url=f"{base}/{path}")).status

        before = [await probe("health"), await probe("readyz"), await probe("elsewhere")]
        gate.set()
        await served.gateway.readiness.reached()
        after = await probe("readyz")

    assert (before, after) == ([200, 503, 404], 200)
