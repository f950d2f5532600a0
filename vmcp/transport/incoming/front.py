"""What stands around the MCP endpoint on its port: health for everybody."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from vmcp.transport.incoming.asgi import Receive, Scope, Send
from vmcp.transport.incoming.endpoint import Endpoint


class Front:
    """The ASGI application of the main port; the endpoint is reached without any routing."""

    def __init__(self, endpoint: Endpoint, path: str, is_ready: Callable[[], bool]) -> None:
        self._endpoint = endpoint
        self._paths = frozenset((path, f"{path.rstrip('/')}/"))
        self._others = Starlette(routes=health_routes(is_ready))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"] in self._paths:
            await self._endpoint(scope, receive, send)
        else:
            await self._others(scope, receive, send)


def health_routes(is_ready: Callable[[], bool]) -> list[Route]:
    """Return the routes that every port has."""

    async def health(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        if is_ready():
            return PlainTextResponse("ready\n")
        return PlainTextResponse("not ready\n", 503, {"Retry-After": "1"})

    return [Route("/health", health), Route("/readyz", readyz)]
