"""A small fast MCP server of both eras, so that the backend is never what a benchmark measures.

Each path `/NAME/mcp` is a server of its own, `/mcp` is the server `echo`; how they count and grow
is on `/NAME/stats` and `/NAME/grow`.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import secrets
from collections import Counter
from dataclasses import dataclass

import msgspec
import uvloop

from benchmarks.eras import (
    ERAS,
    META_CAPABILITIES,
    META_SERVER,
    META_SUBSCRIPTION,
    META_VERSION,
    SESSIONED,
    SESSIONED_VERSIONS,
    STATELESS,
    STATELESS_VERSION,
)
from benchmarks.http1 import EventStream, Reply, Request, ServerConnection
from benchmarks.tools import Arguments, NoSuchCursorError, ToolList, echoed

_INVALID_REQUEST = -32600
_NO_METHOD = -32601
_INVALID_PARAMS = -32602
_PARSE_ERROR = -32700
_HEADER_MISMATCH = -32020
_VERSION_NOT_SERVED = -32022

_CAPABILITIES = {"tools": {"listChanged": True}}
_CACHEABLE = b',"resultType":"complete","ttlMs":0,"cacheScope":"public"'
_COMPLETE = b',"resultType":"complete"'
_QUESTION = (
    b'data: {"jsonrpc":"2.0","id":%b,"method":"elicitation/create","params":'
    b'{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}}\n\n'
)
_METHOD_NOT_ALLOWED = Reply(405, head=b"allow: POST\r\n")


@dataclass(frozen=True, slots=True)
class Options:
    """How the servers of one process behave."""

    tools: int
    page_size: int
    eras: tuple[str, ...]
    has_sessions: bool


class Meta(msgspec.Struct):
    """The members of `_meta` that a stateless request must carry."""

    version: str = msgspec.field(default="", name=META_VERSION)
    capabilities: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name=META_CAPABILITIES)


class Wanted(msgspec.Struct):
    """What a listen request asks to hear of."""

    tools_list_changed: bool = msgspec.field(default=False, name="toolsListChanged")


class Params(msgspec.Struct):
    """The parameters of every method that is known here."""

    name: str = ""
    cursor: str = ""
    version: str = msgspec.field(default="", name="protocolVersion")
    arguments: Arguments = msgspec.field(default_factory=Arguments)
    notifications: Wanted = msgspec.field(default_factory=Wanted)
    meta: Meta = msgspec.field(default_factory=Meta, name="_meta")


class Message(msgspec.Struct):
    """A request, a notification, which has no id, or an answer, which has no method."""

    method: str = ""
    id: msgspec.Raw = msgspec.Raw(b"")
    params: Params = msgspec.field(default_factory=Params)


_decode = msgspec.json.Decoder(Message).decode


class EchoServer:
    """One MCP server: its tools, its sessions, who listens to it, and what it was asked."""

    def __init__(self, name: str, options: Options) -> None:
        """Start without sessions."""
        self.counts: Counter[str] = Counter()
        self.tools = ToolList(name, count=options.tools, page_size=options.page_size)
        self.audience: dict[ServerConnection, bytes] = {}
        self._options = options
        self._identity = {"name": name, "version": "1.0.0"}
        self._sessions: set[bytes] = set()
        # The calls that wait for an answer of their client, by the ids of the questions.
        self._asked: dict[bytes, tuple[dict[ServerConnection, bytes], bytes]] = {}
        self._numbers = itertools.count(1)

    def respond(self, request: Request) -> Reply | EventStream:
        """Answer a request to the MCP endpoint."""
        if request.method == b"POST":
            return self._post(request)
        if request.method not in {b"GET", b"DELETE"}:
            return _METHOD_NOT_ALLOWED
        self.counts[request.method.decode()] += 1
        if _is_stateless_version(request) or SESSIONED not in self._options.eras:
            return _METHOD_NOT_ALLOWED
        refusal = self._session_refused(request, b"null")
        if refusal is not None:
            return refusal
        if request.method == b"GET":
            return EventStream(b": open\n\n", self.audience)
        self._sessions.discard(request.headers.get(b"mcp-session-id", b""))
        return Reply(200, head=b"")

    def grow(self) -> None:
        """Add one tool and tell all who listen."""
        self.tools.grow()
        for connection, subscription in self.audience.items():
            connection.send(_list_changed(subscription))

    def _post(self, request: Request) -> Reply | EventStream:
        try:
            message = _decode(request.body)
        except msgspec.ValidationError as error:
            return _failure(400, b"null", _INVALID_PARAMS, str(error))
        except msgspec.DecodeError:
            return _failure(400, b"null", _PARSE_ERROR, "The body is not JSON.")
        if _is_stateless_version(request) or (
            message.params.meta.version and message.method != "initialize"
        ):
            self.counts[f"{STATELESS} {message.method}"] += 1
            return self._stateless(request, message)
        self.counts[f"{SESSIONED} {message.method}"] += 1
        return self._sessioned(request, message)

    def _sessioned(self, request: Request, message: Message) -> Reply | EventStream:
        refusal = self._sessioned_refused(request, message)
        if refusal is not None:
            return refusal
        match message.method:
            case "tools/call":
                is_asking = message.params.arguments.ask
                return self._ask(message) if is_asking else self._call(message, 200, b"")
            case "tools/list":
                return self._list(message, 200, b"")
            case "initialize":
                return self._initialize(message)
            case "ping":
                return _success(message, b"")
        return _failure(200, message.id, _NO_METHOD, "There is no such method.")

    def _ask(self, message: Message) -> EventStream:
        """Ask the client on the stream of its call, which ends once it has answered."""
        number = b"%d" % next(self._numbers)
        audience: dict[ServerConnection, bytes] = {}
        self._asked[number] = audience, self._call(message, 200, b"").body
        return EventStream(_QUESTION % number, audience)

    def _go_on(self, message: Message) -> None:
        """End the call that waits for this answer."""
        audience, body = self._asked.pop(bytes(message.id), ({}, b""))
        for connection in tuple(audience):
            connection.send(b"data: " + body + b"\n\n")
            connection.finish()

    def _sessioned_refused(self, request: Request, message: Message) -> Reply | None:
        if SESSIONED not in self._options.eras:
            return _version_not_served(message, message.params.version)
        if message.method == "initialize":
            return None
        refusal = self._session_refused(request, message.id or b"null")
        if refusal is None and not message.method:
            self._go_on(message)
        if refusal is None and not (message.id and message.method):
            return Reply(202, head=b"")
        return refusal

    def _session_refused(self, request: Request, answer_to: bytes) -> Reply | None:
        session = request.headers.get(b"mcp-session-id", b"")
        if not self._options.has_sessions or session in self._sessions:
            return None
        if session:
            return _failure(404, answer_to, _INVALID_REQUEST, "The session is not known.")
        return _failure(400, answer_to, _INVALID_REQUEST, "Mcp-Session-Id is missing.")

    def _initialize(self, message: Message) -> Reply:
        asked = message.params.version
        result = {
            "protocolVersion": asked if asked in SESSIONED_VERSIONS else SESSIONED_VERSIONS[0],
            "capabilities": _CAPABILITIES,
            "serverInfo": self._identity,
        }
        reply = _success(message, msgspec.json.encode(result)[1:-1])
        if not self._options.has_sessions:
            return reply
        session = secrets.token_hex(16).encode()
        self._sessions.add(session)
        return reply._replace(head=reply.head + b"mcp-session-id: " + session + b"\r\n")

    def _stateless(self, request: Request, message: Message) -> Reply | EventStream:
        refusal = self._stateless_refused(request, message)
        if refusal is not None:
            return refusal
        match message.method:
            case "tools/call":
                return self._call(message, 400, _COMPLETE)
            case "tools/list":
                return self._list(message, 400, _CACHEABLE)
            case "server/discover":
                return self._discover(message)
            case "subscriptions/listen":
                return self._listen(message)
        return _failure(404, message.id, _NO_METHOD, "There is no such method.")

    def _stateless_refused(self, request: Request, message: Message) -> Reply | None:
        if not message.id:
            return Reply(202, head=b"")
        if STATELESS not in self._options.eras:
            return _failure(400, message.id, _INVALID_REQUEST, "The version is not supported.")
        meta, headers = message.params.meta, request.headers
        if not meta.version or not meta.capabilities:
            return _failure(400, message.id, _INVALID_PARAMS, "A member of _meta is missing.")
        if (
            headers.get(b"mcp-protocol-version") != meta.version.encode()
            or headers.get(b"mcp-method") != message.method.encode()
            or headers.get(b"mcp-name", b"") != message.params.name.encode()
        ):
            return _failure(400, message.id, _HEADER_MISMATCH, "A header and the body differ.")
        if meta.version != STATELESS_VERSION:
            return _version_not_served(message, meta.version)
        return None

    def _discover(self, message: Message) -> Reply:
        result = {
            "supportedVersions": [STATELESS_VERSION],
            "capabilities": _CAPABILITIES,
            "_meta": {META_SERVER: self._identity},
        }
        return _success(message, msgspec.json.encode(result)[1:-1] + _CACHEABLE)

    def _listen(self, message: Message) -> EventStream:
        hears = message.params.notifications.tools_list_changed
        params = {
            "notifications": {"toolsListChanged": True} if hears else {},
            "_meta": {META_SUBSCRIPTION: message.id},
        }
        acknowledged = _event("notifications/subscriptions/acknowledged", params)
        return EventStream(acknowledged, self.audience if hears else {}, bytes(message.id))

    def _list(self, message: Message, refused: int, more: bytes) -> Reply:
        try:
            return _success(message, self.tools.page(message.params.cursor) + more)
        except NoSuchCursorError:
            return _failure(refused, message.id, _INVALID_PARAMS, "The cursor is not known.")

    def _call(self, message: Message, refused: int, more: bytes) -> Reply:
        if message.params.name not in self.tools:
            return _failure(refused, message.id, _INVALID_PARAMS, "There is no such tool.")
        return _success(message, echoed(message.params.arguments) + more)


class Site:
    """All servers of one process by their paths, made when they are first asked for."""

    def __init__(self, options: Options) -> None:
        """Start without servers."""
        self._options = options
        self._servers: dict[bytes, EchoServer] = {}

    def respond(self, request: Request) -> Reply | EventStream:
        """Answer a request to any path."""
        name, _, page = request.target.lstrip(b"/").rpartition(b"/")
        server = self._servers.get(name)
        if server is None:
            server = EchoServer(name.decode() or "echo", self._options)
            self._servers[name] = server
        match page:
            case b"mcp":
                return server.respond(request)
            case b"stats":
                return Reply(200, msgspec.json.encode(server.counts))
            case b"grow":
                server.grow()
                return Reply(200, b"{}")
        return Reply(404, head=b"")


def _is_stateless_version(request: Request) -> bool:
    version = request.headers.get(b"mcp-protocol-version")
    return version is not None and version.decode("latin-1") not in SESSIONED_VERSIONS


def _success(message: Message, members: bytes) -> Reply:
    body = b'{"jsonrpc":"2.0","id":%b,"result":{%b}}' % (message.id, members)
    return Reply(200, body)


def _failure(status: int, answer_to: bytes, code: int, text: str, **more: object) -> Reply:
    error = msgspec.json.encode({"code": code, "message": text, **more})
    return Reply(status, b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (answer_to, error))


def _version_not_served(message: Message, asked: str) -> Reply:
    facts = {"supported": [STATELESS_VERSION], "requested": asked}
    answer_to = bytes(message.id) or b"null"
    return _failure(400, answer_to, _VERSION_NOT_SERVED, "The version is not served.", data=facts)


def _event(method: str, params: dict[str, object]) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return b"data: " + msgspec.json.encode(message) + b"\n\n"


def _list_changed(subscription: bytes) -> bytes:
    meta = {"_meta": {META_SUBSCRIPTION: msgspec.Raw(subscription)}} if subscription else {}
    return _event("notifications/tools/list_changed", dict(meta))


class _Silent(asyncio.Protocol):
    """Accepts and never answers."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.echo", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tools", type=int, default=2, help="tools of each server")
    parser.add_argument("--page", type=int, default=0, help="tools per page; 0: all on one page")
    parser.add_argument("--eras", choices=[*ERAS, "both"], default="both")
    parser.add_argument("--no-sessions", action="store_true", help="give out no session ids")
    parser.add_argument("--hang", action="store_true", help="accept connections, never answer")
    return parser.parse_args()


async def serve(arguments: argparse.Namespace) -> None:
    """Serve until the process is told to end."""
    eras = ERAS if arguments.eras == "both" else (arguments.eras,)
    site = Site(Options(arguments.tools, arguments.page, eras, not arguments.no_sessions))
    make = _Silent if arguments.hang else lambda: ServerConnection(site.respond)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(make, "127.0.0.1", arguments.port, backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(_arguments()))
