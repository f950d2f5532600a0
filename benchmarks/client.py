"""A raw MCP client of both eras: it builds requests as bytes and checks what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec

from benchmarks.eras import (
    META_CAPABILITIES,
    META_VERSION,
    SESSIONED,
    SESSIONED_VERSIONS,
    STATELESS_VERSION,
)
from benchmarks.wire import Answer, Connection, Place

_OK = 200
_ACCEPTED = 299
_META = {
    META_VERSION: STATELESS_VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1.0.0"},
}

_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_INITIALIZE: dict[str, object] = {
    "protocolVersion": SESSIONED_VERSIONS[0],
    "clientInfo": {"name": "benchmark", "version": "1.0.0"},
}


class WrongAnswer(Exception):
    """What came back is not what was asked for; the text says how, in the same words each time."""


class Content(msgspec.Struct):
    """A content block of a call's result."""

    text: str = ""


class Named(msgspec.Struct):
    """A tool of a list, of which only the name matters."""

    name: str


class Result(msgspec.Struct):
    """The members of all results that are looked at."""

    content: list[Content] = []
    is_error: bool = msgspec.field(default=False, name="isError")
    tools: list[Named] = []
    asked: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict, name="inputRequests")
    state: str = msgspec.field(default="", name="requestState")
    next_cursor: str | None = msgspec.field(default=None, name="nextCursor")
    version: str = msgspec.field(default="", name="protocolVersion")


class Failure(msgspec.Struct):
    """A JSON-RPC error."""

    code: int


class Response(msgspec.Struct):
    """A JSON-RPC message that came back."""

    id: int | str | None = None
    method: str | None = None
    result: Result | None = None
    error: Failure | None = None


_decode = msgspec.json.Decoder(Response).decode


def result_of(answer: Answer, expected_id: int) -> Result:
    """Return the result with this id, or raise WrongAnswer."""
    if answer.status == 0:
        raise WrongAnswer("the connection was lost")
    for response in _responses(answer):
        if response.error is not None:
            raise WrongAnswer(f"HTTP {answer.status}, JSON-RPC error {response.error.code}")
        if response.id != expected_id or response.result is None:
            raise WrongAnswer("the id is another one, or there is no result")
        if answer.status != _OK:
            break
        return response.result
    raise WrongAnswer(f"HTTP {answer.status} without a result")


def _responses(answer: Answer) -> list[Response]:
    try:
        found = [_decode(message) for message in answer.messages()]
    except msgspec.MsgspecError:
        raise WrongAnswer(f"HTTP {answer.status}, the body is no JSON-RPC response") from None
    return [response for response in found if response.method is None]


def check_echo(result: Result, text: str, size: int) -> None:
    """Raise WrongAnswer unless the result holds the text, padded to the size asked for."""
    if result.is_error or not result.content:
        raise WrongAnswer("the tool says that it failed")
    found = result.content[0].text
    if len(found) != max(size, len(text)) or not found.startswith(text):
        raise WrongAnswer("the text is another one")


class Client:
    """One client on one connection; requests are numbered from 1."""

    def __init__(self, connection: Connection, place: Place, era: str, *declared: str) -> None:
        """Speak `era` on a connection that is open; call `open` before anything else."""
        self._capabilities: dict[str, object] = {name: {} for name in declared}
        self.connection = connection
        self.last_id = 0
        self.headers = dict(_HEADERS)
        self._place = place
        self._is_sessioned = era == SESSIONED
        if not self._is_sessioned:
            self.headers["mcp-protocol-version"] = STATELESS_VERSION

    @classmethod
    async def connect(cls, url: str, era: str, *declared: str) -> Client:
        """Connect to the host of `url`; the client declares the named capabilities."""
        place = Place.of(url)
        return cls(await Connection.open(place), place, era, *declared)

    async def open(self) -> None:
        """Open a session and say so; a stateless client has nothing to open."""
        if self._is_sessioned:
            await self.greet()
        await self.confirm()

    async def greet(self) -> None:
        """Exchange the first request of the era: initialize or server/discover."""
        if not self._is_sessioned:
            await self.ask("server/discover", {})
            return
        self.headers = dict(_HEADERS)
        request = self.request("initialize", _INITIALIZE | {"capabilities": self._capabilities})
        answer = await self.connection.fetch(request)
        result = result_of(answer, self.last_id)
        self.headers["mcp-protocol-version"] = result.version
        if answer.session:
            self.headers["mcp-session-id"] = answer.session.decode()

    async def confirm(self) -> None:
        """Send notifications/initialized where there is a session."""
        if self._is_sessioned:
            body = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
            await self._send_plainly("POST", body)

    async def close(self) -> None:
        """End the session and the connection."""
        try:
            await self.end()
        finally:
            self.connection.close()

    async def end(self) -> None:
        """End the session where there is one."""
        if "mcp-session-id" in self.headers:
            await self._send_plainly("DELETE", b"")
            del self.headers["mcp-session-id"]

    async def listen(self) -> None:
        """Turn the connection into a stream of the session, on which nothing is read any more."""
        head = self._place.head("GET", self.headers | {"accept": "text/event-stream"})
        status = await self.connection.stream(_whole(head, b""))
        if status != _OK:
            raise WrongAnswer(f"HTTP {status} to a GET")

    async def ask(self, method: str, params: dict[str, object], name: str = "") -> Result:
        """Send a request and return its result, or raise WrongAnswer."""
        request = self.request(method, params, name)
        return result_of(await self.connection.fetch(request), self.last_id)

    def request(self, method: str, params: dict[str, object], name: str = "") -> bytes:
        """Return the next request as bytes."""
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        body = _dump(message | {"params": self._complete(params)})
        return _whole(self._head(method, name), body)

    def calls(self, tool: str, size: int) -> Callable[[str], bytes]:
        """Return what makes a tools/call of a text, from a template that is rendered once."""
        arguments: dict[str, object] = {"text": "@"} | ({"size": size} if size else {})
        params = self._complete({"name": tool, "arguments": arguments})
        message = {"jsonrpc": "2.0", "id": "#", "method": "tools/call"}
        before_id, _, rest = _dump(message | {"params": params}).partition(b'"#"')
        before_text, _, end = rest.partition(b'"@"')
        head = self._head("tools/call", tool)

        def call(text: str) -> bytes:
            self.last_id += 1
            middle = b'%d%b"%b"' % (self.last_id, before_text, text.encode())
            return _whole(head, before_id + middle + end)

        return call

    def _complete(self, params: dict[str, object]) -> dict[str, object]:
        if self._is_sessioned:
            return params
        return params | {"_meta": _META | {META_CAPABILITIES: self._capabilities}}

    def _head(self, method: str, name: str) -> bytes:
        headers = dict(self.headers)
        if not self._is_sessioned:
            headers["mcp-method"] = method
            if name:
                headers["mcp-name"] = name
        return self._place.head("POST", headers)

    async def _send_plainly(self, verb: str, body: bytes) -> None:
        request = _whole(self._place.head(verb, self.headers), body)
        answer = await self.connection.fetch(request)
        if answer.status > _ACCEPTED:
            raise WrongAnswer(f"HTTP {answer.status} to a message that needs no answer")


def _dump(message: dict[str, object]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def _whole(head: bytes, body: bytes) -> bytes:
    return b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)
