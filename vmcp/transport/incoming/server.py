"""The HTTP server under the applications: uvicorn, of which we own the signals and the sockets."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from ssl import SSLContext

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from vmcp.errors import CannotListen
from vmcp.telemetry import metrics
from vmcp.telemetry.metrics import Reading
from vmcp.transport.incoming.asgi import Receive, Scope, Send
from vmcp.transport.incoming.limits import HEADER_LIMIT

Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_BACKLOG = 2048
# Longer than clients and balancers keep an idle connection, so that it is never ours that closes under a request.
_KEEP_ALIVE_SECONDS = 75
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Connection(HttpToolsProtocol):
    """A client's connection, of which a head that never ends does not fill the memory."""

    _in_head = True
    _head_bytes = 0

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Count no more: a body has limits of its own."""
        self._in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take bytes; what is still no whole head past the limit gets 431 and the connection is closed."""
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEADER_LIMIT and not self.transport.is_closing():
                self.transport.write(_TOO_LARGE)
                self.transport.close()


class Server(uvicorn.Server):
    """A server that leaves the signals to whoever started it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing: the order in which we stop is not uvicorn's."""
        yield

    def readings(self) -> Iterator[Reading]:
        """Yield how many connections are open."""
        yield Reading(metrics.CONNECTIONS, (), len(self.server_state.connections))

    def stop(self) -> None:
        """Take no more connections and end when those that are open have been served."""
        self.should_exit = True


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise CannotListen with what stands in the way."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise CannotListen(host, port, reason) from None
    # Connections inherit it; else head and body of an answer are 40 ms apart on asyncio's own loop.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def server(app: Application, grace_seconds: float, tls: SSLContext | None = None) -> Server:
    """Return a server for an application, to be run with sockets of our own; without TLS it speaks plain http."""
    return Server(
        uvicorn.Config(
            app,
            loop="none",
            http=Connection,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            backlog=_BACKLOG,
            ssl_context_factory=None if tls is None else lambda *_: tls,
            timeout_graceful_shutdown=int(grace_seconds) or 1,
        )
    )
