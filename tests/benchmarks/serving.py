"""A server of the benchmarks in the test's own process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from benchmarks.http1 import EventStream, Reply, Request, ServerConnection


@asynccontextmanager
async def serving(respond: Callable[[Request], Reply | EventStream]) -> AsyncIterator[str]:
    """Serve what `respond` answers; give the start of its URLs."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ServerConnection(respond), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
