"""POST /loglevel on the operations port: from this machine alone, until the config says otherwise or the end."""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from vmcp.model.address import is_loopback
from vmcp.telemetry.level import LEVELS, level, set_level

log = logging.getLogger(__name__)

PATH = "/loglevel"


def level_route() -> Route:
    """Return the route: 200 with the new level, 400 for one that there is not."""

    async def serve(request: Request) -> Response:
        if request.client is None or not is_loopback(request.client.host):
            return PlainTextResponse("Only this machine itself may change the log level.\n", 403)
        wanted = request.query_params.get("level", "")
        if wanted not in LEVELS:
            return PlainTextResponse(f"level must be one of: {', '.join(LEVELS)}.\n", 400)
        if (before := level()) != wanted:
            set_level(wanted)
            log.warning("the log level is another one", extra={"before": before, "now": wanted})
        return PlainTextResponse(f"{wanted}\n")

    return Route(PATH, serve, methods=["POST"])
