"""`/metrics` on the operations port: read on the event loop, written in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vmcp.gateway.core import Gateway
from vmcp.gateway.readings import all_readings
from vmcp.telemetry.metrics import Reading


def metrics_route(gateway: Gateway) -> Route:
    """Return the route from which Prometheus reads."""

    async def scrape(request: Request) -> Response:
        found = tuple(all_readings(gateway))
        body, media_type = await asyncio.to_thread(
            _written, found, request.headers.get("accept", "")
        )
        return Response(body, headers={"content-type": media_type, "cache-control": "no-store"})

    return Route("/metrics", scrape)


def _written(found: Sequence[Reading], accept: str) -> tuple[bytes, str]:
    # Imported by the first scrape: nobody else waits for it.
    from vmcp.telemetry.exposition import exposition  # noqa: PLC0415

    return exposition(found, accept)
