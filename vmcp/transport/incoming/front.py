"""What stands around the MCP endpoint on its port: the paths of its parts, and health for everybody."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from vmcp.model.view import view_at
from vmcp.transport.incoming.asgi import Receive, Scope, Send
from vmcp.transport.incoming.endpoint import Endpoint
from vmcp.transport.incoming.httpsse import HttpSse

# The paths that everybody may read, on each port.
FOR_EVERYBODY = frozenset(("/health", "/readyz"))


class Front:
    """The ASGI application of the main port; the endpoint is reached without any routing."""

    def __init__(
        self,
        endpoint: Endpoint,
        path: str,
        is_ready: Callable[[], bool],
        sse: HttpSse | None = None,
    ) -> None:
        self._served: dict[str, Endpoint | HttpSse] = {}
        if sse is not None:
            self._served = {sse.stream_path: sse, sse.messages_path: sse}
        self._below = f"{path.rstrip('/')}/"
        self._served |= {path: endpoint, self._below: endpoint}
        self._endpoint = endpoint
        self._others = Starlette(routes=health_routes(is_ready))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path = scope["path"] if scope["type"] == "http" else ""
        served = self._served.get(path)
        if served is not None:
            await served(scope, receive, send)
        elif path.startswith(self._below) and path not in FOR_EVERYBODY:
            view = view_at(path.removeprefix(self._below))
            await self._endpoint.part(view, scope, receive, send)
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
