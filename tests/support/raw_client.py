"""A client that writes its requests and reads the answers byte by byte, in either era."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.support.raw_json import cases, member, members
from tests.support.raw_server import Era

ANSWER_SECONDS = 20
SESSIONED, STATELESS = "2025-11-25", "2026-07-28"
HOP_META = (
    b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{},'
    b'"io.modelcontextprotocol/clientInfo":{"name":"raw \\u00e9","version":"1.0"}'
)
INITIALIZE = (
    b'{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"raw \\u00e9","version":"1.0"}}'
)
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one request: the HTTP status and the raw messages, the response last."""

    status: int
    messages: tuple[bytes, ...]

    @property
    def response(self) -> bytes:
        """The raw response, which must be there."""
        return self.messages[-1]

    @property
    def notes(self) -> tuple[bytes, ...]:
        """What came before the response."""
        return self.messages[:-1]

    @property
    def result(self) -> bytes:
        """The raw result, which must be there."""
        return member(self.response, "result")

    @property
    def error(self) -> bytes:
        """The raw error, which must be there."""
        return member(self.response, "error")


class RawClient:
    """Send requests over one connection; `url` leads to the gateway."""

    def __init__(self, url: str, era: Era) -> None:
        self.era = era
        parts = urlsplit(url)
        self._path = parts.path
        self._address = (parts.hostname or "", parts.port or 80)
        self._connection = self._connect()
        self._session: str | None = None

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(*self._address, timeout=ANSWER_SECONDS)

    def open(self) -> None:
        """Open the session that a client of the sessioned era needs."""
        if self.era is Era.SESSIONED:
            body = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":' + INITIALIZE + b"}"
            response = self._post(body, {})
            self._session = response.getheader("mcp-session-id")
            response.read()
            self._post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', {}).read()

    def close(self) -> None:
        """End the session and the connection, which may have been idle for too long."""
        self._connection.close()
        if self._session is not None:
            self._connection.request("DELETE", self._path, headers=self._headers({}))
            self._connection.getresponse().read()
        self._connection.close()

    def request(
        self,
        method: str,
        params: bytes = b"",
        *,
        meta: bytes | None = None,
        identity: bytes = b"1",
        said: bytes | None = None,
    ) -> Answer:
        """Send a request and read its whole answer.

        `params` and `meta` are the members inside the braces; the era adds what it requires.
        `said` (such as `"result":{}`) is what a request of the server gets as its answer.
        """
        body = self.body(method, params, meta, identity)
        response = self._post(body, self._mirrored(method, body))
        messages = []
        for message in _messages(response):
            messages.append(message)
            if said is not None and b'"id"' in [key for key, _ in members(message)][:-1]:
                self._say(b'{"jsonrpc":"2.0","id":%b,%b}' % (member(message, "id"), said))
                said = None
        return Answer(response.status, tuple(messages))

    def notify(self, method: str, params: bytes) -> None:
        """Send a notification; `params` are the members inside the braces."""
        body = b'{"jsonrpc":"2.0","method":"%b","params":{%b}}' % (method.encode(), params)
        self._say(body)

    def _say(self, body: bytes) -> None:
        connection = self._connect()
        try:
            connection.request("POST", self._path, body, self._headers({}))
            assert connection.getresponse().status == 202
        finally:
            connection.close()

    def body(self, method: str, params: bytes, meta: bytes | None, identity: bytes) -> bytes:
        """Return the bytes of a request."""
        if self.era is Era.STATELESS:
            meta = HOP_META if not meta else HOP_META + b"," + meta
        if meta is not None:
            params = b",".join(part for part in (params, b'"_meta":{' + meta + b"}") if part)
        # White space that means nothing must harm nothing.
        head = b'{ "jsonrpc" : "2.0",\n  "id" : %b , "method":"%b" , "params" : {' % (
            identity,
            method.encode(),
        )
        return head + params + b"} }\n"

    @contextmanager
    def changes(self, *kinds: str, uris: tuple[str, ...] = ()) -> Iterator[Iterator[bytes]]:
        """Give the raw messages of a stream of changes, after the first sign of life.

        `kinds` are tools, prompts, resources; the sessioned era hears of all, and subscribes
        to resources with requests of its own.
        """
        connection = self._connect()
        try:
            if self.era is Era.SESSIONED:
                for uri in uris:
                    self.request("resources/subscribe", b'"uri":' + json.dumps(uri).encode())
                connection.request(
                    "GET", self._path, headers=self._headers({"Accept": "text/event-stream"})
                )
            else:
                wanted = {f"{kind}ListChanged": True for kind in kinds}
                params = {"notifications": {**wanted, "resourceSubscriptions": uris}}
                body = self.body(
                    "subscriptions/listen", json.dumps(params).encode()[1:-1], None, b'"l\\u00e9"'
                )
                headers = self._headers({"Mcp-Method": "subscriptions/listen"})
                connection.request("POST", self._path, body, headers)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            messages = _events(response)
            if self.era is Era.STATELESS:
                next(messages)
            yield messages
        finally:
            connection.close()

    def _post(self, body: bytes, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        self._connection.request("POST", self._path, body, self._headers(headers))
        return self._connection.getresponse()

    def _headers(self, extra: Mapping[str, str]) -> dict[str, str]:
        session = {} if self._session is None else {"Mcp-Session-Id": self._session}
        return {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": SESSIONED if self.era is Era.SESSIONED else STATELESS,
            **session,
            **extra,
        }

    def _mirrored(self, method: str, body: bytes) -> dict[str, str]:
        if self.era is Era.SESSIONED:
            return {}
        found = {"Mcp-Method": method}
        if method in NAMED:
            name = json.loads(cases(member(body, "params"))[NAMED[method]])
            found["Mcp-Name"] = f"=?base64?{base64.b64encode(name.encode()).decode()}?="
        return found


@contextmanager
def raw_client(url: str, era: Era) -> Iterator[RawClient]:
    """Give a client that is open while the block runs."""
    client = RawClient(url, era)
    client.open()
    try:
        yield client
    finally:
        client.close()


def _messages(response: http.client.HTTPResponse) -> Iterator[bytes]:
    if (response.getheader("content-type") or "").startswith("text/event-stream"):
        yield from _events(response)
    else:
        yield response.read()


def _events(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the data of each event that has some; lines of one event are joined as the standard says."""
    lines: list[bytes] = []
    while line := response.readline():
        content = line.removesuffix(b"\n")
        if content.startswith(b"data:"):
            lines.append(content.removeprefix(b"data:").removeprefix(b" "))
        elif not content:
            if any(lines):
                yield b"\n".join(lines)
            lines = []
