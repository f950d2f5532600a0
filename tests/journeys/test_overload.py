"""Too much at once: what there is no room for is told to come back, and memory stays bounded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.journeys.pairs import backend
from tests.support.backends import serving
from tests.support.clients import named, sessioned, stateless, words
from tests.support.gateways import Served, config, gateway_of
from tests.support.scripted import EVENTS, STATELESS, Flow, Heard, Scripted, message, result, text
from tests.support.servers import Gateway, in_thread, run_gateway
from tests.support.shelf import Invocation
from tests.support.waiting import until

Json = dict[str, Any]
MEGABYTE = 2**20
LIMITED = {"server": {"limits": {"requests": 2}}}


@asynccontextmanager
async def hanging(**settings: Any) -> AsyncIterator[tuple[Served, asyncio.Event]]:
    """Serve a backend whose tool `hang` waits until it is let go."""
    go = asyncio.Event()

    async def hang(_: Invocation) -> Json:
        await go.wait()
        return text("went")

    fake = backend("stateless", hang=hang)
    async with serving(fake), gateway_of(config(fake, **settings)) as served:
        yield served, go
        go.set()
        await served.is_idle()


@pytest.mark.config_key("server.limits.requests")
async def test_past_the_most_requests_one_is_told_to_come_back_and_the_others_go_on() -> None:
    async with hanging(**LIMITED) as (served, go), stateless(served.url) as caller:
        calls = [caller.call("hang", identity=n) for n in range(2)]
        await until(lambda: served.endpoint._room.requests == 2)

        refused = await caller.request("tools/call", named("echo"))
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")

        go.set()
        for call in calls:
            assert words((await (await call).end())["result"]) == "went"
        assert words(await caller.ask("tools/call", named("echo")))


async def test_streams_that_wait_for_news_take_no_room() -> None:
    async with hanging(**LIMITED) as (served, _), AsyncExitStack() as stack:
        for _ in range(3):
            caller = await stack.enter_async_context(stateless(served.url))
            await caller.listen(toolsListChanged=True)
            listener = await stack.enter_async_context(sessioned(served.url))
            await listener.listen()

        assert words(await caller.ask("tools/call", named("echo")))


async def test_a_client_that_leaves_gives_its_room_back() -> None:
    async with hanging(**LIMITED) as (served, _), stateless(served.url) as caller:
        calls = [caller.call("hang", identity=n) for n in range(2)]
        await until(lambda: served.endpoint._room.requests == 2)

        for call in calls:
            call.cancel()
        await until(lambda: not served.endpoint._room.requests)

        assert words(await caller.ask("tools/call", named("echo")))


def resident(gateway: Gateway) -> int:
    """Return how much memory a gateway takes now."""
    for line in Path(f"/proc/{gateway.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the gateway is gone")


class Spring:
    """A backend whose tool `pour` tells of its progress without end, as fast as it is taken."""

    def __init__(self) -> None:
        self.poured = 0
        self.backend = Scripted(STATELESS, {"tools/call": self._call})
        self.backend.tools = tuple(
            {"name": name, "inputSchema": {"type": "object"}} for name in ("pour", "echo")
        )

    def _call(self, heard: Heard) -> bytes | Flow:
        if heard.params["name"] == "pour":
            return Flow(self._pour(heard))
        return result(heard, {**text("here"), "resultType": "complete"})

    async def _pour(self, heard: Heard) -> AsyncIterator[bytes]:
        yield f"HTTP/1.1 200 OK\r\nContent-Type: {EVENTS}\r\n\r\n".encode()
        token = heard.params["_meta"]["progressToken"]
        note = message(
            None,
            method="notifications/progress",
            params={"progressToken": token, "progress": 1, "message": "x" * 60_000},
        )
        while True:
            self.poured += len(note)
            yield b"data: " + note + b"\n\n"


@asynccontextmanager
async def launched(spring: Spring) -> AsyncIterator[Gateway]:
    async with spring.backend.serving():
        settings = {
            "backends": [{"name": "a", "url": spring.backend.url}],
            "aggregation": {"conflictResolutionConfig": {"prefixOnConflict": True}},
        }
        async with in_thread(run_gateway(json.dumps(settings))) as gateway:
            yield gateway


async def _calls(gateway: Gateway, name: str) -> asyncio.StreamWriter:
    """Call a tool and read nothing of what comes."""
    _, _, place = gateway.url.partition("//")
    host, _, port = place.partition("/")[0].partition(":")
    # A reader with a small limit stops reading at once.
    reader, writer = await asyncio.open_connection(host, int(port), limit=1)
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    }
    body = message(1, method="tools/call", params={"name": name, "arguments": {}, "_meta": meta})
    writer.write(
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        b"Mcp-Method: tools/call\r\nMcp-Name: %b\r\nContent-Length: %d\r\n\r\n"
        % (name.encode(), len(body))
        + body
    )
    return writer


async def _works(gateway: Gateway) -> bool:
    async with stateless(gateway.url) as caller:
        return words(await caller.ask("tools/call", named("echo"))) == "here"


async def test_who_reads_nothing_makes_the_backend_wait_and_takes_little_memory() -> None:
    spring = Spring()

    async with launched(spring) as gateway:
        assert await _works(gateway)
        before = resident(gateway)
        writers = [await _calls(gateway, "pour") for _ in range(8)]
        try:
            await until(lambda: len(spring.backend.asked("tools/call")) == 9)
            await until(lambda: spring.poured > 8 * MEGABYTE)
            await _still(spring)

            assert await _works(gateway)
            assert resident(gateway) - before < 48 * MEGABYTE
        finally:
            for writer in writers:
                writer.transport.abort()


async def _still(spring: Spring) -> None:
    """Wait until the backend has been made to wait."""
    while True:
        seen = spring.poured
        try:
            await until(lambda: spring.poured != seen, 0.3)  # noqa: B023 - it is looked at at once
        except AssertionError:
            return


async def test_a_client_that_never_reads_its_stream_does_not_hold_up_the_end() -> None:
    spring = Spring()

    async with launched(spring) as gateway:
        writer = await _calls(gateway, "pour")
        try:
            await until(lambda: spring.poured > MEGABYTE)
            await _still(spring)
            gateway.process.popen.terminate()

            await until(lambda: gateway.process.popen.poll() is not None, 8.0)
            assert gateway.process.popen.poll() == 0
        finally:
            writer.transport.abort()


@pytest.mark.config_key("server.limits.connectionsPerClient")
async def test_connections_past_those_of_one_client_are_told_to_come_back() -> None:
    spring = Spring()
    async with spring.backend.serving():
        settings = {
            "backends": [{"name": "a", "url": spring.backend.url}],
            "server": {"limits": {"connectionsPerClient": 2}},
        }
        async with (
            in_thread(run_gateway(json.dumps(settings))) as gateway,
            aiohttp.ClientSession() as http,
        ):
            health = gateway.url.replace("/mcp", "/health")
            async with AsyncExitStack() as stack:
                for _ in range(2):
                    held = await asyncio.open_connection(
                        "127.0.0.1", int(health.split(":")[2][:-7])
                    )
                    stack.callback(held[1].close)
                async with http.get(health) as answer:
                    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")

            async def is_served() -> bool:
                async with http.get(health) as answer:
                    return answer.status == 200

            async with asyncio.timeout(10):
                while not await is_served():
                    pass
