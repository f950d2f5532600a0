"""Cut a stream of bytes into lines of bounded length; what a line says is left to others."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What is kept of both ends of a line that is too long.
_KEPT = 1024

_HEAD = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*(\d+)\s*,\s*)?'
    rb'(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:'
)
# The brace at the very end closes the message itself, so an id right before it is the message's own.
_TAIL = re.compile(rb',\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line above the limit: its first and its last bytes are all that was kept."""

    head: bytes
    tail: bytes


class Lines:
    """Turn chunks into lines, without their ends; no more than `limit` bytes of a line are held."""

    __slots__ = ("_head", "_limit", "_parts", "_size", "_tail")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._clear()

    def _clear(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None
        self._tail = b""

    def feed(self, chunk: bytes) -> list[bytes | Overlong]:
        """Return the lines that this chunk completes."""
        *ends, rest = chunk.split(b"\n")
        found: list[bytes | Overlong] = []
        for piece in ends:
            self._hold(piece)
            found.append(self._cut())
        self._hold(rest)
        return found

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._head is not None:
            self._tail = (self._tail + piece[-_KEPT:])[-_KEPT:]
            return
        self._parts.append(piece)
        if self._size > self._limit:
            held = b"".join(self._parts)
            self._parts.clear()
            self._head, self._tail = held[:_KEPT], held[-_KEPT:]

    def _cut(self) -> bytes | Overlong:
        if self._head is not None:
            line: bytes | Overlong = Overlong(self._head, self._tail)
        else:
            line = b"".join(self._parts).strip()
        self._clear()
        return line


def answered_id(head: bytes, tail: bytes) -> bytes | None:
    """Return the id of the request that a line answers, told from its two ends; None where they do not tell.

    Servers write the id of a response before its result, or at the very end.
    """
    first = _HEAD.match(head)
    if first is None:
        return None
    if first[1] is not None:
        return first[1]
    last = _TAIL.search(tail)
    return last[1] if last is not None else None
