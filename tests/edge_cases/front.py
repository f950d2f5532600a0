"""Requests to a gateway without a socket between: any method, any headers, any body, byte for byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.gateways import live_config
from tests.support.scripted import Json, Scripted
from vmcp.assembly import running
from vmcp.clock import SystemClock
from vmcp.gateway.core import Gateway
from vmcp.latest import Latest
from vmcp.protocol.sse import Parser
from vmcp.transport.incoming.asgi import Message
from vmcp.transport.incoming.endpoint import Endpoint
from vmcp.transport.incoming.entrance import entrance
from vmcp.transport.incoming.front import Front
from vmcp.transport.incoming.keeper import Keeper

SECONDS = 10.0
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Headers = Mapping[str, str | None] | Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        """The media type."""
        return self.headers.get("content-type", "")

    @property
    def messages(self) -> list[Json]:
        """The messages of the answer, be it one or a stream."""
        if self.kind == "text/event-stream":
            events = Parser(2**24).feed(self.body)
            return [json.loads(event.data) for event in events if event.data]
        return [json.loads(self.body)]

    @property
    def message(self) -> Json:
        """The response, which is the last message."""
        return self.messages[-1]

    @property
    def result(self) -> Json:
        """The result."""
        assert "result" in self.message, self.message
        found: Json = self.message["result"]
        return found

    @property
    def error(self) -> Json:
        """The error."""
        assert "error" in self.message, self.message
        found: Json = self.message["error"]
        return found

    @property
    def code(self) -> int:
        """The code of the error."""
        return int(self.error["code"])


class Door:
    """A gateway as its clients reach it, and the gateway itself."""

    def __init__(self, front: Front, gateway: Gateway) -> None:
        self._front = front
        self.gateway = gateway

    async def send(
        self, method: str = "POST", headers: Headers = (), body: bytes = b"", path: str = "/mcp"
    ) -> Seen:
        """Send a request and return its whole answer."""
        sent: list[Message] = []
        waiting: list[Message] = [{"type": "http.request", "body": body}]

        async def receive() -> Message:
            if waiting:
                return waiting.pop()
            await asyncio.get_running_loop().create_future()
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        async with asyncio.timeout(SECONDS):
            await self._front(_scope(method, path, headers), receive, send)
        return _seen(sent)

    async def opened(self, method: str, headers: Headers, body: bytes = b"") -> tuple[int, str]:
        """Send a request, leave once the answer has begun, and return its status and media type."""
        began = asyncio.get_running_loop().create_future()
        left = asyncio.Event()
        first = True

        async def receive() -> Message:
            nonlocal first
            if first:
                first = False
                return {"type": "http.request", "body": body}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                began.set_result(message)

        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(self._front(_scope(method, "/mcp", headers), receive, send))
            start = await began
            left.set()
        seen = _seen([start])
        return seen.status, seen.kind

    async def post(
        self, body: bytes | Json, headers: Headers = (), path: str = "/mcp", **more: str | None
    ) -> Seen:
        """Post a message with the usual headers; `more` replaces or, with None, removes some."""
        usual = {"host": "127.0.0.1", "content-type": "application/json"}
        given = dict(headers.items() if isinstance(headers, Mapping) else headers)
        changed = {name.replace("_", "-"): value for name, value in more.items()}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.send("POST", {**usual, **given, **changed}, raw, path)

    async def session(self, version: str = "2025-11-25", **capabilities: Any) -> dict[str, str]:
        """Open a session and return the headers of its requests."""
        params = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "door", "version": "1"},
        }
        seen = await self.post(request("initialize", params))
        told = {"mcp-session-id": seen.headers["mcp-session-id"]}
        return told | {"mcp-protocol-version": seen.result["protocolVersion"]}

    async def stateless(
        self, method: str, params: Json | None = None, meta: Json | None = None, **more: str | None
    ) -> Seen:
        """Send a stateless request."""
        params = params or {}
        headers = {"mcp-protocol-version": VERSION, "mcp-method": method}
        if (member := _NAMED.get(method)) in params:
            headers["mcp-name"] = str(params[str(member)])
        full = {**params, "_meta": META if meta is None else meta}
        return await self.post(request(method, full), headers, **more)

    async def tools(self) -> list[str]:
        """Return the names of the tools."""
        return [tool["name"] for tool in (await self.stateless("tools/list")).result["tools"]]

    async def call(self, name: str, arguments: Json | None = None, **more: str | None) -> Seen:
        """Call a tool in the stateless era."""
        return await self.stateless(
            "tools/call", {"name": name, "arguments": arguments or {}}, **more
        )


def request(method: str, params: Json | None = None, identity: Any = 1) -> Json:
    """Return a request."""
    body = {"jsonrpc": "2.0", "id": identity, "method": method}
    return body if params is None else {**body, "params": params}


def _scope(method: str, path: str, headers: Headers) -> Json:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    raw = [
        (name.lower().encode(), value.encode("latin-1"))
        for name, value in pairs
        if value is not None
    ]
    common = {"query_string": b"", "root_path": "", "http_version": "1.1", "scheme": "http"}
    return {"type": "http", "method": method, "path": path, "headers": raw, **common}


def _seen(sent: list[Message]) -> Seen:
    start, *parts = sent
    headers = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    return Seen(start["status"], headers, b"".join(part.get("body", b"") for part in parts))


def behind(*backends: Scripted, **more: Any) -> Json:
    """Return a configuration with backends named a, b, c."""
    named = zip("abcdefgh", backends, strict=False)
    return {"backends": [{"name": name, "url": each.url} for name, each in named], **more}


@asynccontextmanager
async def door(
    config: Json, *, environment: Mapping[str, str] | None = None, awaited: bool = True
) -> AsyncIterator[Door]:
    """Run a gateway for the block, with its first lists where they are `awaited`."""
    live = live_config(config, environment)
    read = live.loaded.value
    async with running(live, {}) as gateway:
        keeper = Keeper(SystemClock())
        endpoint = Endpoint(gateway, Latest(entrance(read)), keeper)
        if awaited:
            async with asyncio.timeout(SECONDS):
                await gateway.readiness.reached()
        front = Front(endpoint, read.config.server.path, lambda: gateway.readiness.is_ready)
        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(keeper.run())
            try:
                yield Door(front, gateway)
            finally:
                keeping.cancel()
