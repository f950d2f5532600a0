"""Values that must be seen nowhere: each tells where it was put, and is found whatever became of it."""

from __future__ import annotations

import base64
import re

_PREFIX = "c4n4ry-"
_FOUND = re.compile(_PREFIX + r"([a-z0-9-]+?)-x")


def canary(place: str) -> str:
    """Return the value for a place; it is long enough for any kind of secret."""
    return f"{_PREFIX}{place}-x{'0123456789' * 3}"


def found(text: str) -> set[str]:
    """Return the places whose values are in a text, in plain or as base64."""
    return {*_FOUND.findall(text), *_FOUND.findall(_decoded(text))}


def _decoded(text: str) -> str:
    """Return what long words of base64 in a text mean."""
    words = re.findall(r"[A-Za-z0-9+/_-]{24,}", text)
    return " ".join(
        base64.b64decode(word[at : at + (len(word) - at) // 4 * 4], altchars=b"-_").decode(
            "latin-1"
        )
        for each in words
        for word in (each.replace("+", "-").replace("/", "_"),)
        for at in range(4)
    )
