"""What a request may look like before anybody reads it: media types, sizes, hosts and origins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from vmcp.model.address import is_loopback
from vmcp.transport.incoming.asgi import Receive

BODY_LIMIT = 4 * 2**20
HEADER_LIMIT = 64 * 2**10
CLOSE = (b"connection", b"close")

_LONGEST_HOST = 300
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::[0-9]{1,5})?")
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


class Refused(Exception):
    """A request that is answered with an HTTP status and a sentence, outside of JSON-RPC."""

    def __init__(self, status: int, message: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


class ClientLeft(Exception):
    """The client went away before its request was whole."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Which answers a client takes, and whether it would rather have streams."""

    json: bool
    stream: bool
    prefers_stream: bool = False


@lru_cache(maxsize=256)
def accepted(header: str | None) -> Accepted:
    """Read an Accept header; none means everything, a type with q=0 is not sent."""
    if header is None or not header.strip():
        return Accepted(json=True, stream=True)
    weights: dict[str, float] = {}
    for part in header.split(","):
        kind, _, rest = part.partition(";")
        weights[kind.strip().lower()] = _weight(rest)
    json = _best(weights, "application/json", "application/*")
    stream = _best(weights, "text/event-stream", "text/*")
    return Accepted(json > 0, stream > 0, stream > json or _is_first(weights, stream, json))


def _is_first(weights: Mapping[str, float], stream: float, json: float) -> bool:
    """Tell whether a client names streams before JSON, both with the same weight."""
    named = [kind for kind in weights if kind in ("text/event-stream", "application/json")]
    return stream == json > 0 and named == ["text/event-stream", "application/json"]


def _weight(parameters: str) -> float:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                return float(value.strip())
            except ValueError:
                return 0.0
    return 1.0


def _best(weights: Mapping[str, float], *ranges: str) -> float:
    """Return the weight of the most exact range that the header names."""
    return next((weights[each] for each in (*ranges, "*/*") if each in weights), 0.0)


@lru_cache(maxsize=256)
def is_json(content_type: str | None) -> bool:
    """Tell whether a Content-Type is JSON, whatever its case and parameters."""
    return (
        content_type is not None
        and content_type.partition(";")[0].strip().lower() == "application/json"
    )


async def body(receive: Receive, headers: Mapping[str, str]) -> bytes:
    """Read a request's body; raise Refused past the limit, ClientLeft when it breaks off."""
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > BODY_LIMIT:
        raise _too_large()
    message = await receive()
    if not message.get("more_body") and message["type"] == "http.request":
        whole: bytes = message.get("body", b"")
        if len(whole) > BODY_LIMIT:
            raise _too_large()
        return whole
    return await _rest(receive, message)


async def _rest(receive: Receive, message: Mapping[str, object]) -> bytes:
    parts: list[bytes] = []
    size = 0
    while message["type"] == "http.request":
        part = message.get("body", b"")
        if isinstance(part, bytes):
            parts.append(part)
            size += len(part)
        if size > BODY_LIMIT:
            raise _too_large()
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()
    raise ClientLeft


def is_bounded(headers: Mapping[str, str]) -> bool:
    """Tell whether a body has an end within the limit."""
    announced = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not announced.isdecimal():
        return False
    return int(announced) <= BODY_LIMIT


def _too_large() -> Refused:
    return Refused(413, f"The body may have at most {BODY_LIMIT} bytes.", CLOSE)


@dataclass(frozen=True, slots=True)
class Doors:
    """From where we may be called.

    `hosts` are allowed Host values (without a port: with any port); None checks no Host. `origins` are allowed
    Origin values; None allows those of loopback.
    """

    hosts: frozenset[str] | None
    origins: frozenset[str] | None

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise Refused for a foreign Host (421) or a foreign Origin (403)."""
        self.check_call(headers.get("host", ""), headers.get("origin"))

    def check_call(self, host: str, origin: str | None) -> None:
        """Raise Refused where a foreign host was called (421), or by a page of a foreign origin (403)."""
        # What is longer is no host, and not worth remembering.
        if not _is_host(host[:_LONGEST_HOST], self.hosts):
            raise Refused(421, "This Host is not served here: add it to server.allowedHosts.")
        if origin is not None and not _is_origin(origin[:_LONGEST_HOST], self.origins):
            raise Refused(403, "This Origin is not allowed: add it to server.allowedOrigins.")


@lru_cache(maxsize=1024)
def _is_host(host: str, allowed: frozenset[str] | None) -> bool:
    if allowed is None or host.lower() in allowed:
        return True
    name = _without_port(host.lower())
    return name in allowed or f"[{name}]" in allowed


def _without_port(host: str) -> str:
    """Return the name or the address, without brackets; an empty text for what is no host."""
    found = _HOST.fullmatch(host)
    return "" if found is None else found["six"] or found["name"]


@lru_cache(maxsize=1024)
def _is_origin(origin: str, allowed: frozenset[str] | None) -> bool:
    if allowed is not None:
        return origin.lower() in allowed
    scheme, _, rest = origin.lower().partition("://")
    return scheme in ("http", "https") and is_loopback(_without_port(rest))


def doors(
    host: str, allowed_hosts: tuple[str, ...] | None, allowed_origins: tuple[str, ...] | None
) -> Doors:
    """Return who may call a server that listens on `host`; None takes what is usual there.

    On loopback the loopback names and origins are allowed; elsewhere any Host, and no Origin.
    """
    on_loopback = is_loopback(host)
    hosts = frozenset(h.lower() for h in allowed_hosts) if allowed_hosts is not None else None
    if hosts is None and on_loopback:
        hosts = _LOOPBACK | {host.lower()}
    origins = frozenset(o.lower() for o in allowed_origins) if allowed_origins is not None else None
    if origins is None and not on_loopback:
        origins = frozenset()
    return Doors(hosts, origins)
