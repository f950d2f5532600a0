"""POST /reload on the operations port: from this machine alone, answered with how it went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import IPv6Address, ip_address

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from vmcp.config.loading import Loading, shown

Reload = Callable[[], Awaitable[Loading]]

PATH = "/reload"


def reload_route(reload: Reload) -> Route:
    """Return the route: 200 with what is in force, 422 with the errors where the config is broken."""

    async def serve(request: Request) -> Response:
        if request.client is None or not is_local(request.client.host):
            return PlainTextResponse("Only this machine itself may ask for a reload.\n", 403)
        loading = await reload()
        body = msgspec.json.encode(shown(loading))
        status = 200 if loading.failure is None else 422
        return Response(body, status, media_type="application/json")

    return Route(PATH, serve, methods=["POST"])


def is_local(peer: str) -> bool:
    """Tell whether the address of a peer is one of the loopback."""
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
