"""A client's connection: what it may take of our memory and of our time."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vmcp.transport.incoming.crowd import Crowd
from vmcp.transport.incoming.limits import HEADER_LIMIT

log = logging.getLogger(__name__)

# How long a head may take, and a whole request; a connection on which nothing came yet is kept as an idle one is.
HEAD_SECONDS = 20.0
REQUEST_SECONDS = 120.0
IDLE_SECONDS = 75.0
# How long a client that takes nothing of its answer is waited for.
STALLED_SECONDS = 30.0

_END = b"content-length: 0\r\nconnection: close\r\n\r\n"
_TOO_LARGE, _TOO_SLOW, _UNREADABLE = 431, 408, 400
_REFUSALS = {
    _TOO_LARGE: b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _END,
    _TOO_SLOW: b"HTTP/1.1 408 Request Timeout\r\n" + _END,
    _UNREADABLE: b"HTTP/1.1 400 Bad Request\r\n" + _END,
}
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n" + _END
# What belongs to the offer of another protocol, in headers and in Connection.
_OFFERS = (b"upgrade", b"http2-settings")


class BoundedConfig(Config):
    """What uvicorn hands to each connection, who is counted with it, and what was refused, by status."""

    def __init__(self, crowd: Crowd | None, refused: Counter[int], *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.crowd = crowd
        self.refused = refused


class Connection(HttpToolsProtocol):
    """A connection that is counted; heads that never end and clients that never read do not stay."""

    config: BoundedConfig

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._in_head = True
        self._head_bytes = 0
        self._client_name: str | None = None
        self._is_turned_away = False
        # Since when a request is awaited, and since when so much of an answer waits to be taken.
        self._awaited_since: float | None = None
        self._has_begun = False
        self._stalled_since: float | None = None
        self._stalled_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or turn the client away."""
        super().connection_made(transport)
        self._awaited_since = self.loop.time()
        if self._client_name is None and not self.enter(self.client[0] if self.client else ""):
            self._is_turned_away = True
            self.transport.write(_TOO_MANY)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.leave()
        super().connection_lost(exc)

    @property
    def is_made(self) -> bool:
        """Whether it has begun; before that TLS is agreed on."""
        return self.transport is not None

    def enter(self, peer: str) -> bool:
        """Count it; False where there is no room."""
        if self.config.crowd is None:
            return True
        self._client_name = self.config.crowd.enter(peer, self.loop.time())
        return self._client_name is not None

    def leave(self) -> None:
        """Count it no more."""
        if self._client_name is not None and self.config.crowd is not None:
            self.config.crowd.leave(self._client_name)

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        self._in_head, self._head_bytes = True, 0
        self._awaited_since, self._has_begun = self.loop.time(), True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Count no more: a body has limits of its own."""
        if self.parser.should_upgrade():
            # It is read again, without the offer.
            return
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Await nothing until the next request begins."""
        if not self.parser.should_upgrade():
            self._awaited_since = None
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Take bytes; what is no request gets 400, a head past the limit 431, and the connection is closed."""
        if self._is_turned_away or self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        try:
            self._feed(data)
        except HttpParserError:
            self._refuse(_UNREADABLE)
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEADER_LIMIT:
                self._refuse(_TOO_LARGE)

    def _feed(self, data: bytes) -> None:
        """Have bytes parsed; who offers another protocol (Java's client does) is served in this one.

        The parser stops after the head of such a request, so another one is given the same without the offer.
        """
        while True:
            try:
                self.parser.feed_data(data)
            except HttpParserUpgrade as offer:
                head = self._head_without_offer()
                self.parser = HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                data = head + data[offer.args[0] :]
            else:
                return

    def _head_without_offer(self) -> bytes:
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            raise HttpParserError("no tunnels are made here")
        lines = [b"%b %b HTTP/%b" % (method, self.url, version)]
        lines += [b"%b: %b" % header for header in _without_offer(self.headers)]
        return b"\r\n".join((*lines, b"", b""))

    def pause_writing(self) -> None:
        """Note that the client does not keep up."""
        self._stall(self.loop.time())
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that it has caught up."""
        self._stalled_since = None
        super().resume_writing()

    def _stall(self, now: float) -> None:
        self._stalled_since = now
        self._stalled_size = self.waiting_bytes

    @property
    def waiting_bytes(self) -> int:
        """How much the client has yet to take."""
        return self.transport.get_write_buffer_size()

    def check(self, now: float, stalled_seconds: float) -> None:
        """End the connection if its client lets us wait for too long."""
        if self._stalled_since is None and self.transport.is_closing():
            self._stall(now)
        if self._stalled_since is not None:
            self._check_stalled(now, stalled_seconds)
        elif self._awaited_since is not None and not self.transport.is_closing():
            self._check_awaited(now - self._awaited_since)

    def _check_stalled(self, now: float, seconds: float) -> None:
        if self.waiting_bytes < self._stalled_size:
            self._stall(now)
        elif self.is_stalled(now, seconds):
            self.cut()

    def is_stalled(self, now: float, seconds: float) -> bool:
        """Tell whether for so long the client has taken nothing of what waits for it."""
        return self._stalled_since is not None and now - self._stalled_since >= seconds

    def cut(self) -> None:
        """End the connection whatever still waits for the client."""
        log.info("a client takes nothing of its answer and is cut off")
        self.transport.abort()

    def _check_awaited(self, seconds: float) -> None:
        if not self._has_begun:
            if seconds >= IDLE_SECONDS:
                self.transport.close()
        elif self._in_head:
            # A head may come while the answer to the one before is still on its way.
            is_busy = self.cycle is not None and not self.cycle.response_complete
            if seconds >= HEAD_SECONDS and not is_busy:
                self._refuse(_TOO_SLOW)
        elif seconds >= REQUEST_SECONDS and not self.pipeline:
            self._give_up()

    def _give_up(self) -> None:
        if self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(_TOO_SLOW)

    def _refuse(self, status: int) -> None:
        self.config.refused[status] += 1
        self.transport.write(_REFUSALS[status])
        self.transport.close()


def _without_offer(headers: list[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    for name, value in headers:
        if name == b"connection":
            words = [word.strip() for word in value.split(b",")]
            yield name, b", ".join([word for word in words if word.lower() not in _OFFERS])
        elif name not in _OFFERS:
            yield name, value
