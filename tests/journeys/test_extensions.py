"""Extensions are told on both sides as they were declared; what they add to documents passes."""

from __future__ import annotations

from typing import Any

from tests.journeys.pairs import STATELESS, backend, client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import SessionedClient
from tests.support.gateways import config, gateway_of
from tests.support.shelf import Invocation, Json

UI = "io.modelcontextprotocol/ui"
PAGE = "ui://clock/page.html"
MIME = "text/html;profile=mcp-app"
SHOWN = {"ui": {"resourceUri": PAGE, "visibility": ["model", "app"]}}
DRAWN = {"ui": {"csp": {"connectDomains": ["https://example.org"]}, "prefersBorder": True}}


@in_both_fronts
async def test_a_backend_is_told_the_extensions_that_its_client_declared(front: str) -> None:
    declared = {"extensions": {UI: {"mimeTypes": [MIME]}, "org.example/x": {"depth": 1.0}}}
    fake = backend(front)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url, **declared) as caller,
    ):
        await caller.ask("tools/call", {"name": "echo"})

        seen = fake.asked("tools/call" if front == STATELESS else "initialize")[-1].params
        meta = seen.get("_meta", {})
        told = seen.get("capabilities") or meta["io.modelcontextprotocol/clientCapabilities"]
        assert told == declared


@in_both_fronts
async def test_clients_are_told_the_extensions_of_the_backends_of_their_era(front: str) -> None:
    fakes = [backend(front), backend(front)]
    for number, fake in enumerate(fakes):
        fake.capabilities["extensions"] = {UI: {"at": number}, f"org.example/{number}": {}}
        fake.capabilities["experimental"] = {"shared": {"at": number}}
    async with serving(*fakes), gateway_of(config(*fakes)) as served:
        await served.shows("a_echo", "b_echo")
        async with client(front, served.url) as caller:
            if isinstance(caller, SessionedClient):
                offered: dict[str, Any] = caller.welcome["capabilities"]
            else:
                offered = (await caller.ask("server/discover"))["capabilities"]

    assert offered["extensions"] == {UI: {"at": 0}, "org.example/0": {}, "org.example/1": {}}
    assert offered["experimental"] == {"shared": {"at": 0}}


@in_both_fronts
async def test_a_tool_that_shows_a_page_leads_to_the_page(front: str) -> None:
    async def clock(_invocation: Invocation) -> Json:
        return {"content": [], "structuredContent": {"now": 1}, "_meta": SHOWN}

    fake = backend(front, clock=clock)
    tool = {"name": "clock", "inputSchema": {"type": "object"}, "_meta": SHOWN}
    page = {"uri": PAGE, "name": "page", "mimeType": MIME, "_meta": DRAWN}
    fake.shelf.documents = {"clock": tool, PAGE: page}
    fake.shelf.resources[PAGE] = "<html>"
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        await served.shows("clock", "echo")
        tools = (await caller.ask("tools/list"))["tools"]
        resources = (await caller.ask("resources/list"))["resources"]
        called = await caller.ask("tools/call", {"name": "clock"})
        read = await caller.ask("resources/read", {"uri": PAGE})

        assert tool in tools
        assert page in resources
        assert called["_meta"] == SHOWN
        assert read["contents"][0]["text"] == "<html>"
