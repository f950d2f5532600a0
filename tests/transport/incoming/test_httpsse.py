"""Clients of the older HTTP+SSE transport, in front of a whole gateway."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin

import aiohttp
import pytest

from tests.support.backends import serving
from tests.support.clients import named, words
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.waiting import SECONDS, until
from vmcp.protocol.sse import Parser, ServerEvent


async def works(invocation: Invocation) -> Json:
    invocation.progress(0.5)
    invocation.log("info", "half")
    return text("done")


async def asks(invocation: Invocation) -> Json:
    answer = await invocation.ask("elicitation/create", {"message": "?", "requestedSchema": {}})
    return text(answer["result"]["action"])


class SseClient:
    """A client with its stream."""

    def __init__(self, http: aiohttp.ClientSession, stream: aiohttp.ClientResponse) -> None:
        self._http = http
        self._stream = stream
        self._parser = Parser(2**24)
        self._events: list[ServerEvent] = []
        self._ids = itertools.count(1)
        self.address = ""

    async def event(self) -> ServerEvent | None:
        """Return the next event, None at the end."""
        async with asyncio.timeout(SECONDS):
            while not self._events:
                chunk = await self._stream.content.readany()
                if not chunk:
                    return None
                self._events += [event for event in self._parser.feed(chunk) if event.data]
        return self._events.pop(0)

    async def heard(self, method: str | None) -> Json:
        """Return the next message of a method, or the next response."""
        while (event := await self.event()) is not None:
            message: Json = json.loads(event.data)
            if message.get("method") == method:
                return message
        raise AssertionError(f"the stream ended without {method}")

    async def post(self, message: object, **headers: str) -> tuple[int, bytes]:
        """Post a message and return the status and the body of the answer."""
        url = urljoin(str(self._stream.url), self.address)
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        told = {"Content-Type": "application/json", **headers}
        async with self._http.post(url, data=body, headers=told) as answer:
            return answer.status, await answer.read()

    async def begin(self, method: str, params: Json | None = None) -> int:
        """Send a request and return its id."""
        identity = next(self._ids)
        message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}
        assert (await self.post(message))[0] == 202
        return identity

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        assert (await self.post(message))[0] == 202

    async def initialize(self, capabilities: Json, version: str) -> Json:
        """Open the session and return the welcome."""
        info = {"name": "old", "version": "1"}
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
        await self.begin("initialize", params)
        welcome: Json = (await self.heard(None))["result"]
        await self.notify("notifications/initialized")
        return welcome

    def leave(self) -> None:
        """Cut the stream."""
        self._stream.close()


@asynccontextmanager
async def greeted(served: Served) -> AsyncIterator[SseClient]:
    """Give a client that was told where to post."""
    async with aiohttp.ClientSession() as http:
        stream = await http.get(served.url.replace("/mcp", "/sse"))
        client = SseClient(http, stream)
        event = await client.event()
        assert event is not None
        assert event.type == b"endpoint"
        client.address = event.data.decode()
        try:
            yield client
        finally:
            client.leave()


@asynccontextmanager
async def opened(
    served: Served, capabilities: Json | None = None, version: str = "2024-11-05"
) -> AsyncIterator[SseClient]:
    """Give a client with a session."""
    async with greeted(served) as client:
        welcome = await client.initialize(capabilities or {}, version)
        assert welcome["protocolVersion"] == version
        yield client


async def test_a_call_is_answered_on_the_stream() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served:
        async with opened(served) as client:
            identity = await client.begin("tools/call", named("echo"))

            answer = await client.heard(None)

            assert answer["id"] == identity
            assert words(answer["result"]) == "{}"
        await served.is_idle()
    assert not fake.of("old")


async def test_progress_and_log_messages_come_before_the_result() -> None:
    fake = SessionedFake(works=works)
    async with serving(fake), gateway_of(config(fake)) as served, opened(served) as client:
        await client.begin("tools/call", named("works", progressToken=9))

        progress = await client.heard("notifications/progress")
        log = await client.heard("notifications/message")
        end = await client.heard(None)

    assert progress["params"] == {"progressToken": 9, "progress": 0.5}
    assert log["params"]["data"] == "half"
    assert words(end["result"]) == "done"


async def test_a_question_is_put_and_answered() -> None:
    fake = SessionedFake(asks=asks)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        opened(served, {"elicitation": {}}, "2025-06-18") as client,
    ):
        await client.begin("tools/call", named("asks"))
        asked = await client.heard("elicitation/create")

        await client.post({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})

        assert words((await client.heard(None))["result"]) == "decline"


async def test_a_call_can_be_cancelled() -> None:
    started = asyncio.Event()

    async def hangs(_: Invocation) -> Json:
        started.set()
        await asyncio.get_running_loop().create_future()
        return text("never")

    fake = SessionedFake(hangs=hangs)
    async with serving(fake), gateway_of(config(fake)) as served, opened(served) as client:
        identity = await client.begin("tools/call", named("hangs"))
        await started.wait()

        await client.notify("notifications/cancelled", requestId=identity)

        await fake.cancelled.first(lambda name: name == "hangs")
        await client.begin("ping")
        assert (await client.heard(None))["result"] == {}


async def test_changes_and_updates_are_told() -> None:
    fake = SessionedFake()
    fake.shelf.resources["x://1"] = "one"
    async with serving(fake), gateway_of(config(fake)) as served, opened(served) as client:
        await client.begin("resources/subscribe", {"uri": "x://1"})
        await client.heard(None)

        fake.tell("notifications/resources/updated", uri="x://1")
        fake.shelf.tools["more"] = works
        fake.tell("notifications/tools/list_changed")

        updated = await client.heard("notifications/resources/updated")
        await client.heard("notifications/tools/list_changed")
    assert updated["params"]["uri"] == "x://1"


async def test_arrays_are_served_to_the_revision_that_knows_them() -> None:
    fake = SessionedFake()
    ping = {"jsonrpc": "2.0", "method": "ping"}
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        opened(served, version="2025-03-26") as client,
    ):
        await client.post([{**ping, "id": "a"}, {**ping, "id": "b"}])

        event = await client.event()

    assert event is not None
    assert sorted(message["id"] for message in json.loads(event.data)) == ["a", "b"]


async def test_a_client_that_leaves_ends_its_session_and_its_calls() -> None:
    started = asyncio.Event()

    async def hangs(_: Invocation) -> Json:
        started.set()
        await asyncio.get_running_loop().create_future()
        return text("never")

    fake = SessionedFake(hangs=hangs)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with opened(served) as client:
            await client.begin("tools/call", named("hangs"))
            await started.wait()

        await fake.cancelled.first(lambda name: name == "hangs")
        await served.is_idle()


async def test_a_request_before_the_session_is_an_error() -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served, greeted(served) as client:
        await client.begin("tools/list")

        assert (await client.heard(None))["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b'{"jsonrpc":"2.0","id":1}', {}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"Host": "gateway.test"}, 421),
        (b"{}", {"Origin": "https://page.test"}, 403),
    ],
    ids=["no JSON", "no message", "type", "host", "origin"],
)
async def test_a_post_that_may_not_be_is_refused(
    body: bytes, headers: dict[str, str], status: int
) -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served, greeted(served) as client:
        assert (await client.post(body, **headers))[0] == status


@pytest.mark.parametrize(
    ("path", "method", "headers", "status"),
    [
        ("/sse", "GET", {"Host": "gateway.test"}, 421),
        ("/sse", "GET", {"Origin": "https://page.test"}, 403),
        ("/sse", "GET", {"Accept": "application/json"}, 406),
        ("/sse", "POST", {}, 405),
        ("/messages", "GET", {}, 405),
        ("/messages?sessionId=none", "POST", {"Content-Type": "application/json"}, 404),
        ("/messages", "POST", {"Content-Type": "application/json"}, 404),
    ],
)
async def test_what_is_no_stream_and_no_session_is_refused(
    path: str, method: str, headers: dict[str, str], status: int
) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        aiohttp.ClientSession() as http,
        http.request(method, served.url.replace("/mcp", path), headers=headers) as answer,
    ):
        assert answer.status == status


async def test_when_the_gateway_stops_a_call_is_answered_and_the_stream_ends() -> None:
    free = asyncio.Event()

    async def waits(_: Invocation) -> Json:
        await free.wait()
        return text("done")

    fake = SessionedFake(waits=waits)
    async with serving(fake), gateway_of(config(fake)) as served, opened(served) as client:
        await client.begin("tools/call", named("waits"))
        await fake.first("tools/call")

        served.endpoint.stop()
        await client.begin("ping")
        refused = await client.heard(None)
        free.set()

        assert refused["error"]["message"] == "The gateway is about to stop."
        assert words((await client.heard(None))["result"]) == "done"
        assert await client.event() is None
        await until(lambda: not len(served.keeper))


async def test_a_client_with_too_much_under_way_is_told_to_wait() -> None:
    free = asyncio.Event()

    async def waits(_: Invocation) -> Json:
        await free.wait()
        return text("done")

    fake = SessionedFake(waits=waits)
    async with serving(fake), gateway_of(config(fake)) as served, opened(served) as client:
        for _ in range(256):
            await client.begin("tools/call", named("waits"))

        status, _ = await client.post({"jsonrpc": "2.0", "id": "more", "method": "ping"})

        assert status == 503
        await client.notify("notifications/cancelled", requestId=2)
        await fake.cancelled.first(lambda name: name == "waits")
        free.set()
        for _ in range(255):
            await client.heard(None)


async def test_messages_take_their_place_among_the_requests_of_all_until_they_are_served() -> None:
    free = asyncio.Event()

    async def waits(_: Invocation) -> Json:
        await free.wait()
        return text("done")

    fake, most = SessionedFake(waits=waits), {"limits": {"requests": 1}}
    async with (
        serving(fake),
        gateway_of(config(fake, server=most)) as served,
        opened(served) as client,
    ):
        await client.begin("tools/call", named("waits"))

        status, told = await client.post({"jsonrpc": "2.0", "id": "more", "method": "ping"})

        assert (status, told) == (503, b"1 requests are under way: come back soon.\n")
        free.set()
        await client.heard(None)
        await client.begin("ping")
        assert (await client.heard(None))["result"] == {}
