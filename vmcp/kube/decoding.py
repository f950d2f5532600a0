"""Reads JSON of the API server, which takes objects that are nested deeper than we can read."""

from __future__ import annotations

import re
from typing import Any

import msgspec

# What we read of any object lies far above.
_MOST_DEPTH = 100
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)


def decoded(body: bytes) -> Any:
    """Return what JSON says, without what lies too deep in it; raise ValueError where it is none."""
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        return msgspec.json.decode(b"".join(_shallow(body)))


def _shallow(body: bytes) -> list[bytes]:
    """Return the parts of JSON in which null stands for what lies too deep."""
    parts: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(body):
        match token[0]:
            case b"{" | b"[":
                depth += 1
                if depth == _MOST_DEPTH + 1:
                    parts += (body[start : token.start()], b"null")
            case b"}" | b"]":
                if depth == _MOST_DEPTH + 1:
                    start = token.end()
                depth -= 1
    # Brackets that are never closed are no JSON, and are left for who says so.
    return [*parts, body[start:] if depth <= _MOST_DEPTH else b"["]
