"""What is wrong at a URL where MCP did not work: one plain request, and words for a person.

The SDK's client loses HTTP statuses and causes, so we look for ourselves.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import urlsplit, urlunsplit

import httpx2
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)
from mcp_types.version import LATEST_MODERN_VERSION

import vmcp

# Enough to tell JSON-RPC from other JSON; a server that sends more is no answer to this request.
READ_BYTES = 1 << 20
SECONDS = 5.0

HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": LATEST_MODERN_VERSION,
    "mcp-method": "server/discover",
}
# Answered without any state by servers of both eras: the older ones refuse it, in JSON-RPC.
BODY = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "server/discover",
    "params": {
        "_meta": {
            PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
            CLIENT_INFO_META_KEY: {"name": "vmcp", "version": vmcp.__version__},
            CLIENT_CAPABILITIES_META_KEY: {},
        }
    },
}

STATUSES = {
    401: "wants a credential: put it into VMCP_API_KEY, or send --header 'Authorization: Bearer ...'",
    403: "refuses this caller: its credential, if any, is not enough",
    405: "takes no POST, so it is no streamable HTTP endpoint: check the path, usually /mcp",
    421: "does not serve this host name: use one that it allows",
    429: "gets too many requests: try again later",
    503: "is not ready or overloaded: try again later",
}


async def explain(http: httpx2.AsyncClient, url: str) -> str | None:
    """Return what is wrong at `url` and what to do about it; None when an MCP server answers."""
    shown = without_keys(url)
    try:
        async with http.stream("POST", url, headers=HEADERS, json=BODY, timeout=SECONDS) as answer:
            return _status(answer, shown) or _body(answer, await _start(answer), shown)
    except httpx2.HTTPError as error:
        return failure(error, shown)


def failure(error: Exception, url: str) -> str:
    """Return what an error of the connection means."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError):
            return _tls(cause, url)
        if isinstance(cause, socket.gaierror):
            return f"The host of {url} is not known: check its name."
    if isinstance(error, httpx2.TimeoutException):
        return f"No answer from {url} in {SECONDS:g} s."
    if isinstance(error, httpx2.ConnectError):
        return f"No server listens at {_origin(url)}. Start one with 'vmcp serve', or check --url."
    hint = " Does it want https?" if urlsplit(url).scheme == "http" else ""
    return f"The server at {_origin(url)} broke off without an answer.{hint}"


def without_keys(url: str) -> str:
    """Return the URL without what stands before the host's @, and without its query."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _tls(error: ssl.SSLError, url: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"The certificate of {_origin(url)} is not trusted: {error.verify_message}. "
            "Name the PEM file of its CA with --ca-file."
        )
    plain = urlunsplit(urlsplit(url)._replace(scheme="http"))
    return f"No TLS at {_origin(url)} ({error.reason}). If it speaks plain HTTP: {plain}"


def _status(answer: httpx2.Response, url: str) -> str | None:
    """Explain the statuses that say enough by themselves."""
    if answer.has_redirect_location:
        return f"{url} redirects to {answer.headers['location']}: use that URL."
    said = STATUSES.get(answer.status_code)
    return said and f"{url} {said} (HTTP {answer.status_code})."


async def _start(answer: httpx2.Response) -> bytes:
    found = b""
    if _type(answer) == "text/event-stream":
        return found
    async for chunk in answer.aiter_bytes():
        found += chunk
        if len(found) > READ_BYTES:
            break
    return found


def _body(answer: httpx2.Response, body: bytes, url: str) -> str | None:
    if _type(answer) == "text/event-stream" or _is_jsonrpc(body):
        return None
    if answer.status_code == HTTPStatus.NOT_FOUND:
        return f"There is nothing at {url} (HTTP 404).{_hint(url)}"
    if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return f"{url} failed (HTTP {answer.status_code}): look into the server's log."
    what = {"text/html": "a web page", "application/json": "JSON that is not JSON-RPC"}
    kind = what.get(_type(answer), _type(answer) or "nothing that has a type")
    return f"{url} is no MCP server: it answers {kind} (HTTP {answer.status_code}).{_hint(url)}"


def _is_jsonrpc(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("jsonrpc") == "2.0"


def _type(answer: httpx2.Response) -> str:
    return str(answer.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _hint(url: str) -> str:
    """Propose the usual path where the URL has another one."""
    if urlsplit(url).path.rstrip("/").endswith("/mcp"):
        return " Check the host, the port and the path."
    return f" MCP is usually served at {_origin(url)}/mcp"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
