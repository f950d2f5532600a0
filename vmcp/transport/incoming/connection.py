"""A client's connection: what it may take of our memory and of our time."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

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
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n" + _END
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\n" + _END
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n" + _END


class BoundedConfig(Config):
    """What uvicorn hands to each connection, and who is counted with it."""

    def __init__(self, crowd: Crowd | None, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.crowd = crowd


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
        crowd = self.config.crowd
        if crowd is None:
            return
        self._client_name = crowd.enter(self.client[0] if self.client else "", self._awaited_since)
        if self._client_name is None:
            self._is_turned_away = True
            self._refuse(_TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._client_name is not None and self.config.crowd is not None:
            self.config.crowd.leave(self._client_name)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        self._in_head, self._head_bytes = True, 0
        self._awaited_since, self._has_begun = self.loop.time(), True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Count no more: a body has limits of its own."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Await nothing until the next request begins."""
        self._awaited_since = None
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Take bytes; what is still no whole head past the limit gets 431 and the connection is closed."""
        if self._is_turned_away:
            return
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEADER_LIMIT and not self.transport.is_closing():
                self._refuse(_TOO_LARGE)

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

    def _refuse(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.transport.close()
