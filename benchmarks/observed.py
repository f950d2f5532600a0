"""What watches a gateway while it is measured: a scraper of its metrics, a collector of its traces."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from benchmarks.http1 import EventStream, Reply, Request, ServerConnection
from benchmarks.processes import accepts, fetch, free_port, python, running
from benchmarks.wire import Lost

_EVERY_SECONDS = 1.0
_SAMPLED = 0.05


@asynccontextmanager
async def scraping(operations: str) -> AsyncIterator[None]:
    """Read the metrics of a gateway every second for the block."""
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(_scrape(f"{operations}/metrics"))
        try:
            yield
        finally:
            reading.cancel()


async def _scrape(url: str) -> None:
    while True:
        with suppress(OSError, Lost):
            await fetch(url)
        await asyncio.sleep(_EVERY_SECONDS)


@asynccontextmanager
async def collecting() -> AsyncIterator[dict[str, object]]:
    """Run a collector that throws away what it gets; give the section `telemetry` that sends traces to it."""
    port = free_port()
    command = python("benchmarks.observed", port)
    async with running(command, is_ready=partial(accepts, port)):
        yield {
            "endpoint": f"127.0.0.1:{port}",
            "insecure": True,
            "tracingEnabled": True,
            "samplingRate": _SAMPLED,
        }


def _taken(_: Request) -> Reply | EventStream:
    return Reply(200)


async def _collect(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ServerConnection(_taken), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_collect(int(sys.argv[1])))
