"""The operations port: health, status, and the page where it is shown."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from vmcp.gateway.browse import Browser
from vmcp.gateway.core import Gateway
from vmcp.gateway.explaining import explained
from vmcp.gateway.status import live, status
from vmcp.transport.incoming.asgi import Receive, Scope, Send, refuse
from vmcp.transport.incoming.front import FOR_EVERYBODY, health_routes
from vmcp.transport.incoming.leveling import level_route
from vmcp.transport.incoming.limits import Doors, Refused
from vmcp.transport.incoming.page.routes import routes
from vmcp.transport.incoming.reloading import Reload, reload_route
from vmcp.transport.incoming.scraping import metrics_route

_REFUSALS = {
    403: "Other websites may not read this port.",
    421: "This port listens on loopback: call it by 127.0.0.1 or localhost.",
}
# As long as the longest URI that a template is matched with.
_LONGEST_NAME = 8192


class Operations:
    """The ASGI application of the operations port.

    What it shows is checked for Host and Origin: a website must not read it through somebody's browser.
    """

    def __init__(self, gateway: Gateway, reload: Reload, doors: Doors, *, shows_page: bool) -> None:
        async def show(_request: Request) -> Response:
            return Response(status(gateway), media_type="application/json")

        found = [*health_routes(lambda: gateway.readiness.is_ready), Route("/status", show)]
        found += [metrics_route(gateway), level_route()]
        found += [_explain(gateway), reload_route(reload)]
        if shows_page:
            browser = Browser(gateway.registry, gateway.inventories, gateway.views)
            found += routes(lambda revision: live(gateway, revision), browser)
        self._doors = doors
        self._app = Starlette(routes=found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"] not in FOR_EVERYBODY:
            try:
                self._doors.check(Request(scope).headers)
            except Refused as refused:
                await refuse(send, refused.status, _REFUSALS[refused.status])
                return
        await self._app(scope, receive, send)


def _explain(gateway: Gateway) -> Route:
    async def show(request: Request) -> Response:
        name = request.query_params.get("name", "")
        if not 0 < len(name) <= _LONGEST_NAME:
            told = f"name must hold 1 to {_LONGEST_NAME} characters.\n"
            return PlainTextResponse(told, 400)
        return Response(await explained(gateway, name), media_type="application/json")

    return Route("/explain", show)
