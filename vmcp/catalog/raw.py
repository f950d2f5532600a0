"""Raw JSON with the standard library alone: quote a text, split an object whose bytes must stay."""

from __future__ import annotations

import json

_encoder = json.JSONEncoder(ensure_ascii=False)
# Numbers are kept as text: nothing is computed from them, and none is too long to be read.
_decoder = json.JSONDecoder(parse_int=str, parse_float=str)
_SPACE = frozenset(" \t\r\n")


class UnreadableError(ValueError):
    """The bytes are no JSON object that can be split."""


def quote(text: str) -> bytes:
    """Return `text` as a JSON string."""
    try:
        return _encoder.encode(text).encode()
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form; JSON can still name it.
        return json.dumps(text).encode()


def members(raw: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return the members of a JSON object, each value as it came; or raise UnreadableError."""
    try:
        return _members(raw.decode())
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from error


def _members(text: str) -> tuple[tuple[bytes, bytes], ...]:
    at = _past(text, 0, "{")
    found: list[tuple[bytes, bytes]] = []
    while text[at : at + 1] != "}":
        at = _past(text, at, ",") if found else at
        key, end = _key(text, at)
        start = _past(text, end, ":")
        _, end = _decoder.raw_decode(text, start)
        found.append((key, text[start:end].encode()))
        at = _skip(text, end)
    if _skip(text, at + 1) != len(text):
        raise UnreadableError("text follows the object")
    return tuple(found)


def _key(text: str, at: int) -> tuple[bytes, int]:
    if text[at : at + 1] != '"':
        raise UnreadableError(f"a member's name was expected at character {at}")
    key, end = _decoder.raw_decode(text, at)
    return quote(key), end


def _past(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != mark:
        raise UnreadableError(f"{mark!r} was expected at character {at}")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] in _SPACE:
        at += 1
    return at
