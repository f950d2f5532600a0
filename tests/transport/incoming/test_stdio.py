"""A client at the other end of two pipes, in front of a whole gateway."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from tests.support.backends import Fake, serving
from tests.support.clients import named, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.stateless_backend import StatelessFake
from tests.support.waiting import SECONDS
from vmcp.model.view import WHOLE, OneBackend, View
from vmcp.transport.incoming import stdio
from vmcp.transport.incoming.stdio import LINE_LIMIT

META = "io.modelcontextprotocol/"
STATELESS = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}


async def works(invocation: Invocation) -> Json:
    invocation.progress(0.5)
    return text("done")


async def asks(invocation: Invocation) -> Json:
    answer = await invocation.ask("roots/list", {})
    return text(str(answer["result"]["roots"]))


def hangs_in(started: asyncio.Event) -> Any:
    async def hangs(_: Invocation) -> Json:
        started.set()
        await asyncio.get_running_loop().create_future()
        return text("never")

    return hangs


class PipeClient:
    """A client that writes lines and reads lines."""

    def __init__(self, write: Callable[[bytes], None], read: asyncio.StreamReader) -> None:
        self._write = write
        self._read = read
        self._ids = itertools.count(1)
        self.meta: Json | None = None

    async def say(self, line: bytes) -> None:
        """Write bytes, in a thread: the gateway reads them in this one's loop."""
        await asyncio.to_thread(self._write, line)

    async def send(self, message: object) -> None:
        """Write a message."""
        await self.say(json.dumps(message).encode() + b"\n")

    async def begin(self, method: str, params: Json | None = None) -> int:
        """Send a request and return its id."""
        identity, params = next(self._ids), params or {}
        if self.meta is not None:
            params = {**params, "_meta": {**self.meta, **params.get("_meta", {})}}
        await self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        return identity

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def next(self) -> Json | None:
        """Return the next message, None at the end."""
        async with asyncio.timeout(SECONDS):
            line = await self._read.readline()
        found: Json | None = json.loads(line) if line else None
        return found

    async def heard(self, method: str | None) -> Json:
        """Return the next message of a method, or the next response."""
        while (message := await self.next()) is not None:
            if message.get("method") == method:
                return message
        raise AssertionError(f"the output ended without {method}")

    async def ask(self, method: str, params: Json | None = None) -> Json:
        """Send a request and return its response."""
        identity = await self.begin(method, params)
        response = await self.heard(None)
        assert response["id"] == identity
        return response

    async def initialize(self, capabilities: Json | None = None) -> Json:
        """Open a session."""
        info = {"name": "piped", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "clientInfo": info}
        welcome = await self.ask("initialize", {**params, "capabilities": capabilities or {}})
        await self.notify("notifications/initialized")
        return welcome


@asynccontextmanager
async def piped(
    fake: Fake, stop: asyncio.Event | None = None, view: View = WHOLE
) -> AsyncIterator[PipeClient]:
    """Serve one client at the end of two pipes; leaving the block closes its end of them."""
    theirs_in, ours_in = os.pipe()
    ours_out, theirs_out = os.pipe()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(2**25)
    transport, _ = await loop.connect_read_pipe(
        partial(asyncio.StreamReaderProtocol, reader), os.fdopen(ours_out, "rb")
    )
    with os.fdopen(ours_in, "wb", 0) as writing:

        def write(data: bytes) -> None:
            view = memoryview(data)
            while view:
                view = view[writing.write(view) :]

        async with (
            serving(fake),
            gateway_of(config(fake)) as served,
            asyncio.TaskGroup() as tasks,
        ):
            ready = served.gateway.readiness.reached
            assert await served.gateway.views.open(view)
            serve = stdio.serve(
                served.endpoint, (theirs_in, theirs_out), view, ready, stop or asyncio.Event()
            )
            work = tasks.create_task(serve)
            yield PipeClient(write, reader)
            writing.close()
            async with asyncio.timeout(SECONDS):
                await work
            await served.is_idle()
    transport.close()
    os.close(theirs_in)
    os.close(theirs_out)


async def test_a_part_of_the_whole_is_served_to_who_launched_it() -> None:
    async with piped(SessionedFake(works=works), view=OneBackend("a")) as client:
        welcome = await client.initialize()
        listed = await client.ask("tools/list")

    assert welcome["result"]["serverInfo"]["title"] == "a (vmcp gateway)"
    assert {tool["name"] for tool in listed["result"]["tools"]} == {"echo", "works"}


async def test_a_session_is_opened_and_used() -> None:
    async with piped(SessionedFake(works=works)) as client:
        welcome = await client.initialize()
        called = await client.begin("tools/call", named("works", progressToken="t"))
        progress = await client.heard("notifications/progress")
        end = await client.heard(None)

    assert welcome["result"]["protocolVersion"] == "2025-11-25"
    assert progress["params"] == {"progressToken": "t", "progress": 0.5}
    assert (end["id"], words(end["result"])) == (called, "done")


async def test_requests_that_say_all_need_no_headers() -> None:
    async with piped(StatelessFake()) as client:
        client.meta = STATELESS
        discovered = await client.ask("server/discover")
        end = await client.ask("tools/call", named("echo"))

    assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
    assert (words(end["result"]), end["result"]["resultType"]) == ("{}", "complete")


async def test_a_tool_that_wants_headers_gets_them_from_the_arguments() -> None:
    fake = StatelessFake()
    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }
    fake.shelf.documents["echo"] = {"name": "echo", "inputSchema": schema}
    async with piped(fake) as client:
        client.meta = STATELESS

        await client.ask("tools/call", {"name": "echo", "arguments": {"region": "eu"}})

    assert (await fake.first("tools/call")).headers["mcp-param-region"] == "eu"


async def test_discover_leaves_the_era_open() -> None:
    async with piped(SessionedFake()) as client:
        client.meta = STATELESS
        await client.ask("server/discover")
        client.meta = None

        assert "result" in await client.initialize()


async def test_the_first_request_that_says_all_decides_for_the_process() -> None:
    async with piped(SessionedFake()) as client:
        client.meta = STATELESS
        await client.ask("tools/list")
        client.meta = None

        refused = await client.ask("tools/list")

    assert refused["error"]["code"] == -32602
    assert "_meta" in refused["error"]["message"]


async def test_a_version_that_is_not_served_is_refused() -> None:
    async with piped(SessionedFake()) as client:
        client.meta = {**STATELESS, f"{META}protocolVersion": "2099-01-01"}

        refused = await client.ask("server/discover")

    assert refused["error"]["code"] == -32022


async def test_a_question_is_put_and_answered() -> None:
    async with piped(SessionedFake(asks=asks)) as client:
        await client.initialize({"roots": {}})
        await client.begin("tools/call", named("asks"))
        asked = await client.heard("roots/list")

        await client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})

        assert words((await client.heard(None))["result"]) == "[]"


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
async def test_a_call_is_cancelled_by_its_id(era: str) -> None:
    started = asyncio.Event()
    fake = SessionedFake(hangs=hangs_in(started))
    async with piped(fake) as client:
        if era == "sessioned":
            await client.initialize()
        else:
            client.meta = STATELESS
        identity = await client.begin("tools/call", named("hangs"))
        await started.wait()

        await client.notify("notifications/cancelled", requestId=identity)

        await fake.cancelled.first(lambda name: name == "hangs")
        assert "result" in await client.ask("tools/list")


async def test_a_session_hears_of_changes() -> None:
    fake = SessionedFake()
    async with piped(fake) as client:
        await client.initialize()
        await client.ask("tools/list")
        fake.shelf.tools["more"] = works

        fake.tell("notifications/tools/list_changed")

        await client.heard("notifications/tools/list_changed")


async def test_a_subscription_is_told_and_ends_as_cancelled_when_the_gateway_stops() -> None:
    fake, stop = SessionedFake(), asyncio.Event()
    async with piped(fake, stop) as client:
        client.meta = STATELESS
        identity = await client.begin(
            "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
        )
        await client.heard("notifications/subscriptions/acknowledged")
        fake.shelf.tools["more"] = works
        fake.tell("notifications/tools/list_changed")
        told = await client.heard("notifications/tools/list_changed")

        stop.set()

        ended = await client.next()
    assert told["params"]["_meta"] == {f"{META}subscriptionId": identity}
    assert ended == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": identity},
    }


@pytest.mark.parametrize("era", ["sessioned", "stateless"])
async def test_a_call_that_has_not_ended_soon_after_the_input_is_told_so(era: str) -> None:
    started = asyncio.Event()
    async with piped(SessionedFake(hangs=hangs_in(started))) as client:
        if era == "sessioned":
            await client.initialize()
        else:
            client.meta = STATELESS
        identity = await client.begin("tools/call", named("hangs"))
        await started.wait()

    last = await client.heard(None)
    assert (last["id"], last["error"]["data"]) == (identity, {"reason": "Stopping"})


async def test_a_line_of_a_mebibyte_passes_both_ways() -> None:
    async def much(_: Invocation) -> Json:
        return text("y" * 2**20)

    async with piped(SessionedFake(much=much)) as client:
        await client.initialize()

        pong = await client.ask("ping", {"x": "y" * 2**20})
        end = await client.ask("tools/call", named("much"))

    assert pong["result"] == {}
    assert len(words(end["result"])) == 2**20


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"x":"%b"}}\n',
        b'{"method":"tools/call","params":{"x":"%b"},"jsonrpc":"2.0","id":"big"}\n',
    ],
    ids=["id first", "id last"],
)
async def test_a_line_above_the_limit_fails_alone(line: bytes) -> None:
    async with piped(SessionedFake()) as client:
        await client.initialize()
        await client.say(line % (b"y" * LINE_LIMIT))

        refused = await client.heard(None)

        assert (refused["id"], refused["error"]["code"]) == ("big", -32600)
        assert str(LINE_LIMIT) in refused["error"]["message"]
        assert (await client.ask("ping"))["result"] == {}


async def test_what_is_no_message_is_refused_and_the_next_line_is_served() -> None:
    async with piped(SessionedFake()) as client:
        await client.say(b"\n\xff\n")
        refused = await client.next() or {}

        assert refused["error"]["code"] == -32700
        assert "id" not in refused
        await client.initialize()


async def test_a_notification_gets_no_answer_whatever_is_wrong_with_it() -> None:
    async with piped(SessionedFake()) as client:
        await client.notify("notifications/roots/list_changed")
        await client.send({"jsonrpc": "2.0", "id": 1, "result": {}})

        assert (await client.ask("ping"))["error"]["code"] == -32600


async def test_a_second_initialize_begins_anew() -> None:
    async with piped(SessionedFake()) as client:
        await client.initialize()
        await client.initialize()

        assert (await client.ask("ping"))["result"] == {}
