"""A bare relay over the HTTP client of the gateway: the least that a call can cost in this process.

Bytes in, bytes out, one backend, no framework.
"""

import sys
from typing import Any

import uvicorn

from vmcp.net import url
from vmcp.net.client import HttpClient
from vmcp.net.tls import SYSTEM

_TO_BACKEND = {
    *(b"accept", b"content-type"),
    *(b"mcp-protocol-version", b"mcp-session-id", b"mcp-method", b"mcp-name"),
}
_TO_CLIENT = ("content-type", "mcp-session-id")
_LIMIT = 16 * 2**20


class Relay:
    """An ASGI application that forwards each request to one URL and returns the answer whole."""

    def __init__(self, target: str) -> None:
        """Forward to `target`."""
        self._url = url.parse(target)
        self._client = HttpClient()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Forward one request."""
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {k.decode(): v.decode() for k, v in scope["headers"] if k in _TO_BACKEND}
        answer = await self._client.send(scope["method"], self._url, headers, body, SYSTEM)
        try:
            content = await answer.read(_LIMIT)
        finally:
            answer.close()
        given = [(k, answer.header(k)) for k in _TO_CLIENT]
        head = [(k.encode(), v.encode()) for k, v in given if v is not None]
        head.append((b"content-length", b"%d" % len(content)))
        await send({"type": "http.response.start", "status": answer.status, "headers": head})
        await send({"type": "http.response.body", "body": content})


if __name__ == "__main__":
    options: dict[str, Any] = {"http": "httptools", "loop": "uvloop", "lifespan": "off"}
    options |= {"access_log": False, "log_level": "warning"}
    uvicorn.run(Relay(sys.argv[2]), port=int(sys.argv[1]), **options)
