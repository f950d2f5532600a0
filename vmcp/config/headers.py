"""Which headers a config file may name for backends, and what their values may hold."""

from __future__ import annotations

import re

NAME_PATTERN = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
_TOKEN = re.compile(NAME_PATTERN)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

# The connection, the protocol and the gateway write these; a second one would contradict.
_RESERVED = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "keep-alive",
        "last-event-id",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
    }
)
_RESERVED_PREFIXES = ("mcp-", "x-forwarded-")

RESERVED_TEXT = (
    "any header but Host, Cookie, Accept, Accept-Encoding, Content-Type, Content-Length, "
    "Content-Encoding, Expect, Forwarded, Last-Event-ID, Via, hop-by-hop headers, Mcp-* and "
    "X-Forwarded-*"
)


def is_token(name: str) -> bool:
    """Tell whether a text may be the name of a header (RFC 9110, 5.6.2)."""
    return _TOKEN.fullmatch(name) is not None


def is_reserved(name: str) -> bool:
    """Tell whether a header is never configurable."""
    lower = name.lower()
    return lower in _RESERVED or lower.startswith(_RESERVED_PREFIXES)


def value_complaint(value: str) -> str | None:
    """Return what is wrong with a header's value without repeating it; None if nothing is."""
    if not value:
        return "is empty"
    if _CONTROL.search(value):
        return "holds a line break or another control character"
    if value != value.strip(" \t"):
        return "begins or ends with white space"
    return None


def token_complaint(value: str) -> str | None:
    """Return what is wrong with a bearer token without repeating it; None if nothing is."""
    if any(character.isspace() for character in value):
        return "holds white space"
    return value_complaint(value)
