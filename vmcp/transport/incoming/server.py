"""The HTTP server under the applications: uvicorn, of which we own the signals and the sockets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from ssl import SSLContext

import uvicorn

from vmcp.errors import CannotListen
from vmcp.telemetry import metrics
from vmcp.telemetry.metrics import Reading
from vmcp.transport.incoming.asgi import Receive, Scope, Send
from vmcp.transport.incoming.connection import (
    IDLE_SECONDS,
    STALLED_SECONDS,
    BoundedConfig,
    Connection,
)
from vmcp.transport.incoming.crowd import Crowd
from vmcp.transport.incoming.handshake import Handshakes

Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_BACKLOG = 2048
_LOOK_SECONDS = 1.0
# When we are about to stop, or short of memory, a client that takes nothing does not hold us up.
_STALLED_AT_END_SECONDS = 2.0


class Server(uvicorn.Server):
    """A server that leaves the signals to whoever started it, and looks after its connections."""

    config: BoundedConfig

    _stalled_seconds = STALLED_SECONDS
    # What waits for clients in all; past that those who take nothing and let the most wait are cut off.
    _most_waiting_bytes = 256 * 2**20

    def __init__(self, tls: SSLContext | None, config: BoundedConfig) -> None:
        super().__init__(config)
        self._handshakes = None if tls is None else Handshakes(tls, self._connection)
        self._taking: list[asyncio.Task[None]] = []

    def _connection(self) -> Connection:
        return Connection(self.config, self.server_state, self.lifespan.state)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing: the order in which we stop is not uvicorn's."""
        yield

    def readings(self) -> Iterator[Reading]:
        """Yield how many connections are open, and for how many there was no room."""
        handshakes = 0 if self._handshakes is None else len(self._handshakes)
        open_ = len(self.server_state.connections) + handshakes
        yield Reading(metrics.CONNECTIONS, (), open_)
        crowd = self.config.crowd
        yield Reading(metrics.TURNED_AWAY, (), 0 if crowd is None else crowd.turned_away)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until stopped."""
        async with asyncio.TaskGroup() as tasks:
            works = [tasks.create_task(self._look_after())]
            try:
                if self._handshakes is None:
                    await super().serve(sockets)
                else:
                    taking = [self._handshakes.run(each) for each in sockets or ()]
                    self._taking = [tasks.create_task(each) for each in taking]
                    works += self._taking
                    await super().serve([])
            finally:
                for work in works:
                    work.cancel()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and end when those that are open have been served."""
        for taking in self._taking:
            taking.cancel()
        await super().shutdown(sockets)

    async def _look_after(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.look(loop.time())

    def look(self, now: float) -> None:
        """End the connections of clients that let us wait for too long, or too much wait for them."""
        if self._handshakes is not None:
            self._handshakes.look(now)
        open_ = [each for each in self.server_state.connections if isinstance(each, Connection)]
        for connection in open_:
            connection.check(now, self._stalled_seconds)
        waiting = sum(connection.waiting_bytes for connection in open_)
        if waiting <= self._most_waiting_bytes:
            return
        # Who takes something has done nothing wrong.
        idle = [each for each in open_ if each.is_stalled(now, _STALLED_AT_END_SECONDS)]
        for connection in sorted(idle, key=lambda each: each.waiting_bytes, reverse=True):
            waiting -= connection.waiting_bytes
            connection.cut()
            if waiting <= self._most_waiting_bytes:
                break

    def hasten(self) -> None:
        """Wait no longer for clients that take nothing: we are about to stop."""
        self._stalled_seconds = _STALLED_AT_END_SECONDS

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


def server(
    app: Application,
    grace_seconds: float,
    tls: SSLContext | None = None,
    crowd: Crowd | None = None,
    refused: Counter[int] | None = None,
) -> Server:
    """Return a server for an application, to be run with sockets of our own; without TLS it speaks plain http.

    Connections are counted, and turned away where they are too many, with a crowd only. `refused` counts by
    status what no application saw.
    """
    return Server(
        tls,
        BoundedConfig(
            crowd,
            Counter() if refused is None else refused,
            app,
            loop="none",
            http=Connection,
            # Longer than clients and balancers keep one, so that it is never ours that closes under a request.
            timeout_keep_alive=int(IDLE_SECONDS),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=int(grace_seconds) or 1,
        ),
    )
