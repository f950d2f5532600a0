"""ASGI wrappers that make a server of both eras refuse one, as servers of a single era do."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send


class OnlySessioned:
    """Answers a stateless request as a server does that was written before there were any."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what belongs to a session, refuse the rest."""
        version = _version(scope)
        if scope["type"] != "http" or version is None or version in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._app(scope, receive, send)
            return
        served = ", ".join(HANDSHAKE_PROTOCOL_VERSIONS)
        message = f"Bad Request: Unsupported protocol version: {version} (supported: {served})"
        error = {"code": INVALID_REQUEST, "message": message}
        body = {"jsonrpc": "2.0", "id": "server-error", "error": error}
        await JSONResponse(body, status_code=400)(scope, receive, send)


class OnlyStateless:
    """Answers a sessioned request as a server does that has never held a session."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what names a stateless revision, refuse the rest."""
        version = _version(scope)
        is_sessioned = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
        if scope["type"] != "http" or not is_sessioned:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        if request.method != "POST":
            refusal = Response(status_code=405, headers={"Allow": "POST"})
        else:
            refusal = _unsupported(await _message(request), version)
        await refusal(scope, receive, send)


def _version(scope: Scope) -> str | None:
    for name, value in scope.get("headers", ()):
        if name == b"mcp-protocol-version":
            return bytes(value).decode("latin-1")
    return None


async def _message(request: Request) -> dict[str, Any]:
    try:
        message = json.loads(await request.body())
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _unsupported(message: dict[str, Any], version: str | None) -> Response:
    params = message.get("params")
    asked = params.get("protocolVersion") if isinstance(params, dict) else None
    error = {
        "code": UNSUPPORTED_PROTOCOL_VERSION,
        "message": "Unsupported protocol version",
        "data": {
            "supported": list(MODERN_PROTOCOL_VERSIONS),
            "requested": version or asked or HANDSHAKE_PROTOCOL_VERSIONS[0],
        },
    }
    body = {"jsonrpc": "2.0", "error": error}
    if "id" in message:
        body["id"] = message["id"]
    return JSONResponse(body, status_code=400)
