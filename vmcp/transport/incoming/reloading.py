"""POST /reload on the operations port: from this machine alone, answered with how it went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from vmcp.config.loading import Loading, shown
from vmcp.model.address import is_loopback

Reload = Callable[[], Awaitable[Loading]]

PATH = "/reload"


def reload_route(reload: Reload) -> Route:
    """Return the route: 200 with what is in force, 422 with the errors where the config is broken."""

    async def serve(request: Request) -> Response:
        if request.client is None or not is_loopback(request.client.host):
            return PlainTextResponse("Only this machine itself may ask for a reload.\n", 403)
        loading = await reload()
        body = msgspec.json.encode(shown(loading))
        status = 200 if loading.failure is None else 422
        return Response(body, status, media_type="application/json")

    return Route(PATH, serve, methods=["POST"])
