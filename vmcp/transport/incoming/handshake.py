"""Connections before TLS is agreed on: they are counted as any other, and who keeps one waiting is cut off."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from ssl import SSLContext

from vmcp.transport.incoming.connection import Connection

log = logging.getLogger(__name__)

HANDSHAKE_SECONDS = 10.0
# How long we wait where the system cannot give us another connection.
_SHORT_SECONDS = 1.0

Make = Callable[[], Connection]


class Handshakes:
    """Take connections and agree on TLS with each; where there is no room, one ends without an answer."""

    def __init__(self, tls: SSLContext, make: Make) -> None:
        self._tls = tls
        self._make = make
        self._began: dict[asyncio.Task[None], float] = {}

    def __len__(self) -> int:
        return len(self._began)

    async def run(self, listener: socket.socket) -> None:
        """Take what comes until cancelled; who has not agreed by then is cut off."""
        loop = asyncio.get_running_loop()
        listener.settimeout(0)
        async with asyncio.TaskGroup() as tasks:
            try:
                while True:
                    try:
                        taken, address = await loop.sock_accept(listener)
                    except OSError:
                        # Too many files are open, or the client has left already.
                        log.warning("a connection could not be taken")
                        await asyncio.sleep(_SHORT_SECONDS)
                        continue
                    task = tasks.create_task(self._agree(taken, str(address[0])))
                    self._began[task] = loop.time()
                    task.add_done_callback(self._began.pop)
            finally:
                self.look(float("inf"))

    async def _agree(self, taken: socket.socket, peer: str) -> None:
        connection = self._make()
        if not connection.enter(peer):
            taken.close()
            return
        try:
            with suppress(OSError):
                # What a client says that speaks no TLS, does not trust us or has left is for nobody.
                await asyncio.get_running_loop().connect_accepted_socket(
                    lambda: connection, taken, ssl=self._tls
                )
        finally:
            if not connection.is_made:
                connection.leave()

    def look(self, now: float) -> None:
        """Cut off those who take too long."""
        for task, began in tuple(self._began.items()):
            if now - began >= HANDSHAKE_SECONDS:
                task.cancel()
