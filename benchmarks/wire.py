"""One kept-alive HTTP/1.1 client connection that costs little; one request at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import httptools

_CONNECT_SECONDS = 5.0


class Lost(ConnectionError):
    """The connection ended before the answer did."""


class Answer(NamedTuple):
    """A whole HTTP answer; a status of 0 means that the connection was lost."""

    status: int
    content_type: bytes = b""
    session: bytes = b""
    body: bytes = b""

    def messages(self) -> Iterator[bytes]:
        """Yield the JSON-RPC messages of the body: the only one, or each event's."""
        if not self.content_type.startswith(b"text/event-stream"):
            yield self.body
            return
        for event in self.body.replace(b"\r\n", b"\n").split(b"\n\n"):
            lines = [line[5:].lstrip() for line in event.split(b"\n") if line[:5] == b"data:"]
            if any(lines):
                yield b"\n".join(lines)


LOST = Answer(0)


class Place(NamedTuple):
    """Where a URL leads."""

    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url: str) -> Place:
        """Split an http URL that names its port."""
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname is None or parts.port is None:
            raise ValueError(f"{url!r} is no URL of the form http://HOST:PORT/PATH.")
        return cls(parts.hostname, parts.port, parts.path or "/")

    def head(self, method: str, headers: dict[str, str]) -> bytes:
        """Return a request line and headers, open for more of them."""
        lines = [f"{method} {self.path} HTTP/1.1", f"host: {self.host}:{self.port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, ""]).encode()


class Connection(asyncio.Protocol):
    """Sends ready requests and hands each whole answer to whoever asked."""

    def __init__(self) -> None:
        """Wait for a transport."""
        self._transport: asyncio.Transport
        self._answered: Callable[[Answer], None] | None = None
        self._begun: asyncio.Future[int] | None = None
        self._is_lost = False
        self._parser = httptools.HttpResponseParser(self)
        self._renew()

    @classmethod
    async def open(cls, place: Place) -> Connection:
        """Connect, within a few seconds."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, connection = await loop.create_connection(cls, place.host, place.port)
        return connection

    def send(self, request: bytes, answered: Callable[[Answer], None]) -> None:
        """Send a request; `answered` is called once, with LOST if there will be no answer."""
        if self._is_lost:
            answered(LOST)
            return
        self._answered = answered
        self._transport.write(request)

    async def fetch(self, request: bytes) -> Answer:
        """Send a request and return its answer, or raise Lost."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def take(found: Answer) -> None:
            if not answer.done():
                answer.set_result(found)

        self.send(request, take)
        found = await answer
        if found is LOST:
            raise Lost("The connection ended without an answer.")
        return found

    async def stream(self, request: bytes) -> int:
        """Send a request and return the status of its answer once that begins; or raise Lost."""
        self._begun = asyncio.get_running_loop().create_future()
        self.send(request, lambda _: None)
        status = await self._begun
        if not status:
            raise Lost("The connection ended without an answer.")
        return status

    def close(self) -> None:
        """End the connection."""
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Parse what came; what is no HTTP ends the connection."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Tell whoever waits."""
        self._is_lost = True
        if self._begun is not None and not self._begun.done():
            self._begun.set_result(0)
        self._finish(LOST)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the two headers that matter."""
        if name.lower() == b"content-type":
            self._content_type = value.lower()
        elif name.lower() == b"mcp-session-id":
            self._session = value

    def on_headers_complete(self) -> None:
        """Tell whoever waits for the answer to begin."""
        if self._begun is not None and not self._begun.done():
            self._begun.set_result(self._parser.get_status_code())

    def on_body(self, body: bytes) -> None:
        """Collect a piece of the body."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Hand over the answer."""
        status, keep = self._parser.get_status_code(), self._parser.should_keep_alive()
        answer = Answer(status, self._content_type, self._session, b"".join(self._pieces))
        self._renew()
        if not keep:
            self._is_lost = True
            self._transport.close()
        self._finish(answer)

    def _renew(self) -> None:
        self._content_type = self._session = b""
        self._pieces: list[bytes] = []

    def _finish(self, answer: Answer) -> None:
        answered, self._answered = self._answered, None
        if answered is not None:
            answered(answer)
