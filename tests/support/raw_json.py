"""JSON cut into its raw parts, for tests that compare bytes: independent of the code under test."""

from __future__ import annotations

import json
from collections.abc import Iterator

Members = tuple[tuple[bytes, bytes], ...]

_SPACE = b" \t\r\n"
_OPENING, _CLOSING = b"{[", b"}]"


class NotCutError(ValueError):
    """The bytes are not the JSON that was to be cut."""


def members(raw: bytes) -> Members:
    """Return the keys (with their quotes) and values of an object, in order, byte for byte."""
    found = []
    for part in _parts(raw, b"{}"):
        end = _end(part, 0)
        key, rest = part[:end], part[end:].lstrip(_SPACE)
        if part[:1] != b'"' or rest[:1] != b":":
            raise NotCutError(f"no member: {part[:40]!r}")
        found.append((key, rest[1:].strip(_SPACE)))
    return tuple(found)


def items(raw: bytes) -> tuple[bytes, ...]:
    """Return the items of an array, byte for byte."""
    return tuple(_parts(raw, b"[]"))


def member(raw: bytes, key: str) -> bytes:
    """Return the one value that an object has for a key, which is written without escapes."""
    found = [value for name, value in members(raw) if name == b'"%b"' % key.encode()]
    if len(found) != 1:
        raise NotCutError(f"{len(found)} members {key!r} in {raw[:200]!r}")
    return found[0]


def cases(raw: bytes) -> dict[str, bytes]:
    """Return the members of an object by their names."""
    return {json.loads(key): value for key, value in members(raw)}


def _parts(raw: bytes, brackets: bytes) -> Iterator[bytes]:
    text = raw.strip(_SPACE)
    if text[:1] + text[-1:] != brackets:
        raise NotCutError(f"{brackets.decode()} was expected, not {text[:40]!r}")
    at, last = 1, len(text) - 1
    while at < last:
        start = at
        while at < last and text[at : at + 1] != b",":
            at = _end(text, at)
        if part := text[start:at].strip(_SPACE):
            yield part
        at += 1


def _end(text: bytes, at: int) -> int:
    """Return where the string, the container or the single byte at `at` ends."""
    first = text[at : at + 1]
    if first == b'"':
        return _string_end(text, at)
    if first not in _OPENING:
        return at + 1
    depth = 0
    while True:
        byte = text[at : at + 1]
        if not byte:
            raise NotCutError("a container has no end")
        if byte == b'"':
            at = _string_end(text, at)
            continue
        depth += (byte in _OPENING) - (byte in _CLOSING)
        at += 1
        if depth == 0:
            return at


def _string_end(text: bytes, at: int) -> int:
    at += 1
    while text[at : at + 1] != b'"':
        if at >= len(text):
            raise NotCutError("a string has no end")
        at += 2 if text[at : at + 1] == b"\\" else 1
    return at + 1
