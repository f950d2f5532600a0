"""A forward proxy that knows one machine by every name: it reads requests (http) or opens tunnels (https)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(eq=False)
class FakeProxy:
    """Where it is, and the heads of the requests that it was sent.

    `answer` is what it says instead of serving.
    """

    answer: bytes | None = None
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    opened: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.opened += 1
        with suppress(OSError, asyncio.IncompleteReadError):
            async with asyncio.TaskGroup() as tasks:
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    self.heads.append(head)
                    if self.answer is not None:
                        writer.write(self.answer)
                    elif head.startswith(b"CONNECT"):
                        await self._tunnel(head, reader, writer)
                        break
                    else:
                        await self._forward(head, reader, writer, tasks)
        writer.close()

    async def _tunnel(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        port = int(head.split()[1].rpartition(b":")[2])
        far, back = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_pass(reader, back))
            tasks.create_task(_pass(far, writer))

    async def _forward(
        self,
        head: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        tasks: asyncio.TaskGroup,
    ) -> None:
        method, url, rest = head.split(b" ", 2)
        parts = urlsplit(url.decode())
        far, back = await asyncio.open_connection("127.0.0.1", parts.port or 80)
        lines = [line for line in rest.split(b"\r\n") if not line.lower().startswith(b"proxy-")]
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        back.write(method + b" " + target.encode() + b" " + b"\r\n".join(lines))
        tasks.create_task(_pass(reader, back))
        await _pass(far, writer)
        raise asyncio.IncompleteReadError(b"", None)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with suppress(OSError):
            while data := await reader.read(2**16):
                writer.write(data)
                await writer.drain()
        writer.close()
    except asyncio.CancelledError:
        writer.transport.abort()
        raise


@asynccontextmanager
async def proxying(
    answer: bytes | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[FakeProxy]:
    """Run a proxy for the block."""
    proxy = FakeProxy(answer)
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(proxy.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(lambda _: writer.transport.abort())

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
