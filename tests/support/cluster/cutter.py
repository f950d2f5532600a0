"""A way to the API server that is cut at will: all connections over it end at once, in the middle of a word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_PART = 2**16


class Cutter:
    """Carries bytes to a port of this machine and back."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.opened = 0
        self._far_port = port
        self._open: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """End all connections, without a goodbye."""
        for each in self._open:
            each.transport.abort()

    async def serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        self.opened += 1
        with suppress(OSError):
            far, forth = await asyncio.open_connection("127.0.0.1", self._far_port)
            both = {back, forth}
            self._open |= both
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(_carry(near, forth))
                    tasks.create_task(_carry(far, back))
            finally:
                self._open -= both
                for each in both:
                    each.transport.abort()


async def _carry(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await source.read(_PART):
            to.write(part)
            await to.drain()
        to.close()


@asynccontextmanager
async def cutting(port: int) -> AsyncIterator[Cutter]:
    """Give a way to a port for the block."""
    cutter = Cutter(port)
    server = await asyncio.start_server(cutter.serve, "127.0.0.1", 0)
    cutter.port = server.sockets[0].getsockname()[1]
    try:
        yield cutter
    finally:
        server.close()
        cutter.cut()
