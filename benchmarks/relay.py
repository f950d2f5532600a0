"""The bare relay that gateways are compared with: bytes in, bytes out, one backend, no framework.

It has the server and the event loop of the gateway, and aiohttp as its HTTP client, the library
that such programs are written with. At most 60 lines.
"""

import sys
from typing import Any

import aiohttp
import uvicorn

_TO_BACKEND = {
    *(b"accept", b"content-type"),
    *(b"mcp-protocol-version", b"mcp-session-id", b"mcp-method", b"mcp-name"),
}
_TO_CLIENT = ("content-type", "mcp-session-id")


class Relay:
    """An ASGI application that forwards each request to one URL and returns the answer whole."""

    def __init__(self, url: str) -> None:
        """Forward to `url`."""
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Forward one request."""
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {k.decode(): v.decode() for k, v in scope["headers"] if k in _TO_BACKEND}
        client = self._client()
        async with client.request(scope["method"], self._url, data=body, headers=headers) as answer:
            content = await answer.read()
        taken = [k for k in _TO_CLIENT if k in answer.headers]
        head = [(k.encode(), answer.headers[k].encode()) for k in taken]
        head.append((b"content-length", b"%d" % len(content)))
        await send({"type": "http.response.start", "status": answer.status, "headers": head})
        await send({"type": "http.response.body", "body": content})

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0)
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=jar)
        return self._session


if __name__ == "__main__":
    options: dict[str, Any] = {"http": "httptools", "loop": "uvloop", "lifespan": "off"}
    options |= {"access_log": False, "log_level": "warning"}
    uvicorn.run(Relay(sys.argv[2]), port=int(sys.argv[1]), **options)
