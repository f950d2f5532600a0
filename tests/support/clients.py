"""Clients that speak the wire of either era and show all that comes back, event by event."""

from __future__ import annotations

import asyncio
import itertools
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.support.waiting import SECONDS
from vmcp.protocol.sse import Parser

Json = dict[str, Any]

_META = "io.modelcontextprotocol/"
_NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_BOTH = "application/json, text/event-stream"


class Answer:
    """What comes back for one request: messages, read one by one; `raw` is all that has come."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._parser = Parser(2**24)
        self._messages: list[Json] = []
        self.raw = b""
        self.notes: list[Json] = []
        # The ids of the events that have come.
        self.ids: list[str] = []
        self.status = response.status
        self.headers = response.headers
        self.is_stream = response.content_type == "text/event-stream"

    async def next(self) -> Json | None:
        """Return the next message, None at the end."""
        async with asyncio.timeout(SECONDS):
            while not self._messages:
                chunk = await self._response.content.readany()
                if not chunk:
                    return None
                self.raw += chunk
                self._take(chunk)
        return self._messages.pop(0)

    def _take(self, chunk: bytes) -> None:
        if self.is_stream:
            for event in self._parser.feed(chunk):
                if event.id is not None:
                    self.ids.append(event.id.decode())
                if event.data:
                    self._messages.append(json.loads(event.data))
        elif self._response.content.at_eof():
            self._messages.append(json.loads(self.raw))

    async def heard(self, method: str) -> Json:
        """Return the next notification or request of a method; others go to the notes."""
        while (message := await self.next()) is not None:
            if message.get("method") == method:
                return message
            self.notes.append(message)
        raise AssertionError(f"the stream ended without {method}; it said {self.notes}")

    async def end(self) -> Json:
        """Return the response; what comes before it goes to the notes."""
        while (message := await self.next()) is not None:
            if "method" not in message:
                return message
            self.notes.append(message)
        raise AssertionError(f"the answer ended without a response; it said {self.notes}")

    async def comments(self, number: int) -> None:
        """Wait until the stream has sent so many comments."""
        async with asyncio.timeout(SECONDS):
            while self.raw.count(b": keep-alive\n") < number:
                chunk = await self._response.content.readany()
                assert chunk, "the stream ended"
                self.raw += chunk
                self._take(chunk)

    def close(self) -> None:
        """Cut the connection."""
        self._response.close()


class Client:
    """What clients of both eras have in common."""

    def __init__(self, http: aiohttp.ClientSession, tasks: asyncio.TaskGroup, url: str) -> None:
        self._http = http
        self._tasks = tasks
        self.url = url
        self._ids = itertools.count(1)
        self._answers: list[Answer] = []

    def leave(self) -> None:
        """Cut all connections on which there may be more to come."""
        for answer in self._answers:
            answer.close()

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        message: object = None,
        url: str | None = None,
    ) -> Answer:
        """Send one HTTP request and return its answer once it begins."""
        body = None if message is None else json.dumps(message).encode()
        more = {"Content-Type": "application/json"} if body else {}
        async with asyncio.timeout(SECONDS):
            response = await self._http.request(
                method, url or self.url, data=body, headers={"Accept": _BOTH, **more, **headers}
            )
        self._answers.append(Answer(response))
        return self._answers[-1]

    async def request(
        self, method: str, params: Json | None = None, identity: Any = None, **headers: str
    ) -> Answer:
        """Send a request and return its answer once it begins."""
        raise NotImplementedError

    def begin(
        self, method: str, params: Json | None = None, identity: Any = None
    ) -> asyncio.Task[Answer]:
        """Send a request whose answer may begin late."""
        return self._tasks.create_task(self.request(method, params, identity))

    async def ask(self, method: str, params: Json | None = None) -> Json:
        """Send a request and return its result."""
        message = await (await self.request(method, params)).end()
        assert "result" in message, message
        result: Json = message["result"]
        return result

    async def refused(self, method: str, params: Json | None = None) -> Json:
        """Send a request and return its error."""
        message = await (await self.request(method, params)).end()
        assert "error" in message, message
        error: Json = message["error"]
        return error

    def call(self, name: str, identity: Any = None, **meta: Any) -> asyncio.Task[Answer]:
        """Begin to call a tool."""
        return self.begin("tools/call", named(name, **meta), identity)

    async def tools(self) -> list[str]:
        """Return the names of the tools."""
        return [tool["name"] for tool in (await self.ask("tools/list"))["tools"]]


def named(name: str, **meta: Any) -> Json:
    """Return the params that call a tool, or get a prompt, of a name."""
    return {"name": name, **({"_meta": meta} if meta else {})}


def words(result: Json) -> str:
    """Return the text of a tool's result."""
    found: str = result["content"][0]["text"]
    return found


class SessionedClient(Client):
    """A client of the sessioned era with its session."""

    version = "2025-11-25"
    session = ""
    welcome: Json

    @property
    def _headers(self) -> dict[str, str]:
        return {"MCP-Protocol-Version": self.version, "Mcp-Session-Id": self.session}

    async def initialize(self, capabilities: Json, name: str) -> None:
        """Open the session."""
        params = {
            "protocolVersion": self.version,
            "capabilities": capabilities,
            "clientInfo": {"name": name, "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params}
        answer = await self.send("POST", {}, message)
        self.welcome = (await answer.end())["result"]
        self.session = answer.headers["Mcp-Session-Id"]
        await self.notify("notifications/initialized")

    async def request(
        self, method: str, params: Json | None = None, identity: Any = None, **headers: str
    ) -> Answer:
        """Send a request in the session."""
        message = _message(next(self._ids) if identity is None else identity, method, params)
        return await self.send("POST", {**self._headers, **headers}, message)

    async def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
        answer = await self.send("POST", self._headers, message)
        assert answer.status == 202

    async def answer(self, identity: Any, **member: Any) -> None:
        """Answer a request of the server with a result or an error."""
        message = {"jsonrpc": "2.0", "id": identity, **member}
        answer = await self.send("POST", self._headers, message)
        assert answer.status == 202

    async def listen(self, last_event: str | None = None) -> Answer:
        """Open the stream of what the server says unasked, or come back to a stream."""
        more = {} if last_event is None else {"Last-Event-ID": last_event}
        return await self.send("GET", {**self._headers, "Accept": "text/event-stream", **more})

    async def end(self) -> int:
        """End the session and return the HTTP status."""
        return (await self.send("DELETE", self._headers)).status


class StatelessClient(Client):
    """A client of the stateless era."""

    version = "2026-07-28"
    capabilities: Json
    name = "stateless"

    def meta(self, more: Json) -> Json:
        """Return the `_meta` of a request."""
        return {
            f"{_META}protocolVersion": self.version,
            f"{_META}clientCapabilities": self.capabilities,
            f"{_META}clientInfo": {"name": self.name, "version": "1"},
            **more,
        }

    async def request(
        self, method: str, params: Json | None = None, identity: Any = None, **headers: str
    ) -> Answer:
        """Send a request that says all."""
        params = params or {}
        told = {"MCP-Protocol-Version": self.version, "Mcp-Method": method}
        if (member := _NAMED.get(method)) is not None:
            told["Mcp-Name"] = params[member]
        full = {**params, "_meta": self.meta(params.get("_meta", {}))}
        identity = next(self._ids) if identity is None else identity
        return await self.send("POST", {**told, **headers}, _message(identity, method, full))

    async def listen(self, identity: Any = "listen", **notifications: Any) -> Answer:
        """Open a subscription and return it once it is acknowledged."""
        wanted = {"notifications": notifications}
        answer = await self.request("subscriptions/listen", wanted, identity)
        answer.notes.append(await answer.heard("notifications/subscriptions/acknowledged"))
        return answer


def _message(identity: Any, method: str, params: Json | None) -> Json:
    body = {"jsonrpc": "2.0", "id": identity, "method": method}
    return body if params is None else {**body, "params": params}


@dataclass(frozen=True, slots=True)
class Way:
    """What a client sends with each request, and whose certificates it trusts."""

    headers: Mapping[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None


_PLAIN = Way()


def _http(way: Way) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, ssl=True if way.tls is None else way.tls)
    return aiohttp.ClientSession(connector=connector, headers=way.headers)


@asynccontextmanager
async def sessioned(
    url: str,
    capabilities: Json | None = None,
    name: str = "sessioned",
    version: str = "2025-11-25",
    way: Way = _PLAIN,
) -> AsyncIterator[SessionedClient]:
    """Give a client with a session, which ends with the block."""
    async with _http(way) as http, asyncio.TaskGroup() as tasks:
        client = SessionedClient(http, tasks, url)
        client.version = version
        await client.initialize(capabilities or {}, name)
        yield client
        with suppress(aiohttp.ClientConnectionError):
            # The server may have ended before its client.
            await client.end()
        client.leave()


@asynccontextmanager
async def stateless(
    url: str, capabilities: Json | None = None, way: Way = _PLAIN
) -> AsyncIterator[StatelessClient]:
    """Give a client of the stateless era."""
    async with _http(way) as http, asyncio.TaskGroup() as tasks:
        client = StatelessClient(http, tasks, url)
        client.capabilities = capabilities or {}
        yield client
        client.leave()
