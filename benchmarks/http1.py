"""One HTTP/1.1 server connection on asyncio.Protocol; what is answered belongs to its owner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple, cast

import httptools

_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
JSON_TYPE = b"content-type: application/json\r\n"


class Request(NamedTuple):
    """A whole request; the names of headers are in lower case."""

    method: bytes
    target: bytes
    headers: dict[bytes, bytes]
    body: bytes


class Reply(NamedTuple):
    """A whole answer; `head` holds header lines, each with its line end."""

    status: int
    body: bytes = b""
    head: bytes = JSON_TYPE


class EventStream(NamedTuple):
    """An answer that stays open: `first` is sent at once, then whatever `audience` gets.

    The connection puts itself into `audience` with its `tag`, and leaves when it is lost.
    """

    first: bytes
    audience: dict[ServerConnection, bytes]
    tag: bytes = b""


class ServerConnection(asyncio.Protocol):
    """Parses requests and writes what `respond` returns, in order, with keep-alive."""

    def __init__(self, respond: Callable[[Request], Reply | EventStream]) -> None:
        """Answer each request with what `respond` makes of it."""
        self._respond = respond
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._audience: dict[ServerConnection, bytes] | None = None
        self.on_message_begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Parse what came; a peer that speaks something else is cut off."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Leave the audience of the stream that was open."""
        if self._audience is not None:
            self._audience.pop(self, None)

    def on_message_begin(self) -> None:
        """Forget the last request."""
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._body = b""

    def on_url(self, url: bytes) -> None:
        """Collect the request target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header."""
        self._headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        """Collect a piece of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """Answer the request that has come in whole."""
        request = Request(self._parser.get_method(), self._target, self._headers, self._body)
        reply = self._respond(request)
        if isinstance(reply, EventStream):
            self._open(reply)
            return
        length = b"content-length: %d\r\n\r\n" % len(reply.body)
        self._transport.writelines((_STATUS_LINES[reply.status], reply.head, length, reply.body))
        if not self._parser.should_keep_alive():
            self._transport.close()

    def _open(self, stream: EventStream) -> None:
        self._transport.write(_STREAM_HEAD)
        self.send(stream.first)
        self._audience = stream.audience
        stream.audience[self] = stream.tag

    def finish(self) -> None:
        """End the open stream; the connection serves on."""
        if self._audience is not None:
            self._audience.pop(self, None)
        self._audience = None
        self._transport.write(b"0\r\n\r\n")

    def send(self, event: bytes) -> None:
        """Write a piece of the open stream."""
        self._transport.write(b"%x\r\n%b\r\n" % (len(event), event))
