"""What one client says must not fill the memory of all: what outlives its request is small."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.pairs import CLIENTS, SESSIONED, backend, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import named, sessioned, stateless
from tests.support.gateways import config, gateway_of
from tests.support.shelf import Fault, Invocation, Json, text
from tests.support.waiting import until
from vmcp.protocol.declared import MOST_SAID_BYTES

LARGE = "x" * (MOST_SAID_BYTES + 1)
LONG_URI = "x:" + "u" * 8192


@pytest.mark.parametrize("told", ["capabilities", "name"])
@in_both_fronts
async def test_a_client_that_says_too_much_of_itself_is_refused(front: str, told: str) -> None:
    more: dict[str, Any] = (
        {"capabilities": {"experimental": {"x": LARGE}}} if told == "capabilities" else {}
    )
    fake = backend(SESSIONED)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        CLIENTS[front](served.url) as client,
    ):
        before = len(served.gateway.sessions)
        info = {"name": LARGE if told == "name" else "x", "version": "1"}
        if front == SESSIONED:
            params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
            error = await client.refused("initialize", params | more)
        else:
            about = "io.modelcontextprotocol/client"
            said = {f"{about}Info": info}
            if more:
                said[f"{about}Capabilities"] = more["capabilities"]
            error = await client.refused("tools/call", named("echo", **said))

        assert error["code"] == -32602
        assert len(served.gateway.sessions) == before


async def test_a_subscription_that_is_large_is_refused() -> None:
    fake = backend(SESSIONED)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with stateless(served.url) as client:
            wanted = {"notifications": {"toolsListChanged": True}, "more": "x" * 2**17}
            answer = await client.request("subscriptions/listen", wanted)

            assert answer.status == 413
        await served.is_idle()


async def test_a_session_watches_so_many_resources_and_keeps_none_that_it_does_not() -> None:
    fake = backend(SESSIONED)
    async with serving(fake), gateway_of(config(fake)) as served, sessioned(served.url) as client:
        (session,) = served.gateway.sessions._all.values()
        assert (await client.refused("resources/subscribe", {"uri": LONG_URI}))["code"] == -32602
        session.uris = frozenset(f"x:{number}" for number in range(1000))
        error = await client.refused("resources/subscribe", {"uri": "x:one-more"})

        assert error["code"] == -32602
        assert len(session.uris) == 1000


async def test_what_a_backend_does_not_let_watch_is_not_kept() -> None:
    fake = backend(SESSIONED)
    async with serving(fake), gateway_of(config(fake)) as served, sessioned(served.url) as client:
        (session,) = served.gateway.sessions._all.values()
        fake.refuses["resources/subscribe"] = Fault(-32602, "not this one")
        await client.refused("resources/subscribe", {"uri": "x:1"})

        assert session.uris == frozenset()


@in_both_fronts
async def test_an_id_that_is_no_id_is_not_carried_about(front: str) -> None:
    fake = backend(SESSIONED)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        CLIENTS[front](served.url) as client,
    ):
        answer = await client.request("tools/list", identity="i" * 2000)

        assert answer.status == 400
        assert (await answer.end())["error"]["code"] == -32600


async def test_calls_that_wait_for_their_clients_share_a_bounded_memory() -> None:
    async def asks(invocation: Invocation) -> Json:
        answer = await invocation.ask("elicitation/create", {"message": "?", "requestedSchema": {}})
        return text(str("result" in answer))

    fake = backend(SESSIONED, asks=asks)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with stateless(served.url, {"elicitation": {}}) as client:
            large = named("asks") | {"arguments": {"x": "y" * 2**19}}
            served.gateway.parked._most_bytes = 2**20
            first = await client.ask("tools/call", large)
            assert first["resultType"] == "input_required"

            result = await client.ask("tools/call", large)

            assert result["resultType"] == "complete"
        await until(lambda: len(served.gateway.parked) == 1)
