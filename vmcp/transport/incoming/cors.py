"""What browsers want to know before they let a web page of another origin speak to us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vmcp.config.headers import is_token
from vmcp.transport.incoming.asgi import Headers, Message, Send, respond
from vmcp.transport.incoming.request import HttpRequest

# Browsers keep an answer for two hours at most; a withdrawn origin is refused all the same.
_MAX_AGE_SECONDS = b"7200"
_METHODS = b"GET, POST, DELETE"
_HEADERS = (
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "traceparent",
    "tracestate",
    "x-api-key",
    "x-request-id",
)
_PARAM = "mcp-param-"
_EXPOSED = b"mcp-session-id, www-authenticate, x-request-id, retry-after"


def is_preflight(request: HttpRequest) -> bool:
    """Tell whether a browser only asks what it may send."""
    return request.method == "OPTIONS" and "access-control-request-method" in request.headers


async def answer(request: HttpRequest, passed: frozenset[str]) -> None:
    """Answer a preflight of an origin that is allowed; `passed` are headers that backends are to get."""
    allowed = ", ".join(
        [*_HEADERS, *sorted({*_params(request.headers), *passed}.difference(_HEADERS))]
    )
    headers: Headers = [
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", allowed.encode("latin-1")),
        (b"access-control-max-age", _MAX_AGE_SECONDS),
    ]
    if request.headers.get("access-control-request-private-network") == "true":
        headers.append((b"access-control-allow-private-network", b"true"))
    await respond(request.send, 204, b"", [*headers, request.id_header])


def _params(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the headers for arguments that the page wants to send: each tool has others."""
    for name in headers.get("access-control-request-headers", "").split(","):
        if (asked := name.strip().lower()).startswith(_PARAM) and is_token(asked):
            yield asked


def exposing(send: Send, origin: str) -> Send:
    """Return what sends answers that a page of an allowed origin may read."""
    more: Headers = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"Origin"),
    ]

    async def send_readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return send_readable
