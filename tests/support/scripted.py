"""A backend whose every answer a test may set, down to the bytes: for all that real servers get wrong.

Without a script it behaves, in one era, with one tool and without a stream of changes. It runs in the
event loop of the test and keeps each request as it came.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from ssl import SSLContext
from typing import Any

from tests.support.waiting import Journal

Json = dict[str, Any]
Era = str

SESSIONED: Era = "sessioned"
STATELESS: Era = "stateless"
VERSION = "2026-07-28"
JSON = "application/json"
EVENTS = "text/event-stream"

_HEAD_LIMIT = 2**18


@dataclass(frozen=True, slots=True)
class Heard:
    """One request as it came: `headers` are all of them, in order, with lower-case names."""

    http: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def message(self) -> Json:
        """The message in the body."""
        message: Json = json.loads(self.body) if self.body else {}
        return message

    @property
    def method(self) -> str:
        """The method of the message; the HTTP method where there is none."""
        return str(self.message.get("method", "")) if self.body else self.http

    @property
    def params(self) -> Json:
        """The params of the message."""
        params: Json = self.message.get("params", {})
        return params

    def all(self, name: str) -> list[str]:
        """Return the values of a header, each line that there was."""
        return [value for header, value in self.headers if header == name.lower()]

    def header(self, name: str) -> str | None:
        """Return the value of a header that may stand once."""
        (value,) = self.all(name) or [None]
        return value


@dataclass(frozen=True, slots=True)
class Cut:
    """Bytes after which the connection is closed."""

    raw: bytes


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes that are sent piece by piece as they come; at their end the connection is closed."""

    parts: AsyncIterator[bytes]


Answer = bytes | Cut | Flow
Script = Callable[[Heard], Answer | Awaitable[Answer]]


def http(status: int = 200, body: bytes = b"", kind: str | None = None, **headers: str) -> bytes:
    """Return an HTTP answer; `_` in names of headers stands for a dash."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [] if kind is None else [f"Content-Type: {kind}"]
    lines += [] if status == 204 else [f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def message(identity: Any, **member: Any) -> bytes:
    """Return a JSON-RPC message; without an id where it is None."""
    told = {} if identity is None else {"id": identity}
    return json.dumps({"jsonrpc": "2.0", **told, **member}).encode()


def result(heard: Heard, found: Json, **headers: str) -> bytes:
    """Return the answer with a result."""
    return http(200, message(heard.message["id"], result=found), JSON, **headers)


def error(heard: Heard, code: int, status: int = 200, **headers: str) -> bytes:
    """Return the answer with an error."""
    found = {"code": code, "message": "scripted"}
    return http(status, message(heard.message.get("id"), error=found), JSON, **headers)


def events(*data: bytes, kind: str = EVENTS) -> bytes:
    """Return an event stream that ends."""
    return http(200, b"".join(b"data: " + each + b"\n\n" for each in data), kind)


def always(answer: Answer) -> Script:
    """Return a script that gives one answer to all."""
    return lambda _: answer


def text(words: str) -> Json:
    """Return the result of a tool."""
    return {"content": [{"type": "text", "text": words}]}


class Scripted:
    """The backend: `script` holds answers by method (`GET` and `DELETE` too), `else` answers the rest."""

    def __init__(self, era: Era = SESSIONED, script: Mapping[str, Script] | None = None) -> None:
        self.era = era
        self.script: dict[str, Script] = dict(script or {})
        self.heard: Journal[Heard] = Journal()
        self.version = "2025-11-25"
        self.declared: Json = {"tools": {}, "prompts": {}, "resources": {}}
        self.tools: tuple[Json, ...] = ({"name": "echo", "inputSchema": {"type": "object"}},)
        self.prompts: tuple[str, ...] = ()
        self.resources: tuple[str, ...] = ()
        self.port = 0
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def asked(self, method: str) -> list[Heard]:
        """Return the requests of a method so far."""
        return self.heard.having(lambda heard: heard.method == method)

    @asynccontextmanager
    async def serving(self, port: int = 0, tls: SSLContext | None = None) -> AsyncIterator[None]:
        """Serve for the block, on a free port unless one is given."""
        closed = asyncio.Event()
        server = await asyncio.start_server(
            partial(self._connected, closed), "127.0.0.1", port, limit=_HEAD_LIMIT, ssl=tls
        )
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            closed.set()
            server.close()
            for task in self._connections:
                task.cancel()
            if self._connections:
                await asyncio.wait(self._connections)

    async def _connected(
        self, closed: asyncio.Event, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if closed.is_set():
            # Its handshake was under way at the end: it is not served with the certificate of before.
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while await self._served(await _read(reader), writer):
                    pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _served(self, heard: Heard, writer: asyncio.StreamWriter) -> bool:
        self.heard.add(heard)
        script = self.script.get(heard.method) or self.script.get("else") or self.behaves
        answer = script(heard)
        if not isinstance(answer, bytes | Cut | Flow):
            answer = await answer
        if isinstance(answer, Flow):
            async for part in answer.parts:
                writer.write(part)
                await writer.drain()
            return False
        writer.write(answer.raw if isinstance(answer, Cut) else answer)
        await writer.drain()
        return isinstance(answer, bytes)

    def behaves(self, heard: Heard) -> bytes:
        """Answer as a server of its era should."""
        if heard.http != "POST":
            return http(200 if heard.http == "DELETE" else 405)
        if "id" not in heard.message or "method" not in heard.message:
            return http(202)
        if self.era == STATELESS:
            return self._stateless(heard)
        return self._sessioned(heard)

    def _sessioned(self, heard: Heard) -> bytes:
        if heard.method == "server/discover":
            return http(404)
        if heard.method == "initialize":
            return result(heard, self.welcome(), Mcp_Session_Id="session-1")
        return self._shared(heard, {})

    def _stateless(self, heard: Heard) -> bytes:
        if heard.method == "server/discover":
            return result(heard, self.discovered())
        return self._shared(heard, {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"})

    def _shared(self, heard: Heard, more: Json) -> bytes:
        found = self._answers(heard)
        if found is None:
            return error(heard, -32601, 404 if more else 200)
        return result(heard, {**found, **more})

    def _answers(self, heard: Heard) -> Json | None:
        match heard.method:
            case "tools/call":
                return text(heard.params["name"])
            case "prompts/get":
                words = {"type": "text", "text": self.url}
                return {"messages": [{"role": "user", "content": words}]}
        return self._lists().get(heard.method)

    def _lists(self) -> Mapping[str, Json]:
        return {
            "tools/list": {"tools": self.tools},
            "prompts/list": {"prompts": [{"name": name} for name in self.prompts]},
            "resources/list": {"resources": [{"uri": uri, "name": uri} for uri in self.resources]},
            "resources/templates/list": {"resourceTemplates": []},
        }

    def welcome(self) -> Json:
        """Return its answer to `initialize`."""
        info = {"name": "scripted", "version": "1"}
        return {
            "protocolVersion": self.version,
            "capabilities": self.declared,
            "serverInfo": info,
        }

    def discovered(self) -> Json:
        """Return its answer to `server/discover`."""
        return {
            "resultType": "complete",
            "supportedVersions": [VERSION],
            "capabilities": self.declared,
            "ttlMs": 0,
            "cacheScope": "public",
        }


async def _read(reader: asyncio.StreamReader) -> Heard:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = tuple((name.lower(), value.strip()) for name, _, value in map(_parted, lines))
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    return Heard(method, path, headers, await reader.readexactly(length))


def _parted(line: str) -> tuple[str, str, str]:
    return line.partition(":")


@asynccontextmanager
async def scripted(*backends: Scripted) -> AsyncIterator[None]:
    """Serve several for the block."""
    if not backends:
        yield
        return
    async with backends[0].serving(), scripted(*backends[1:]):
        yield
