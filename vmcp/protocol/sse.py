"""Server-sent events: a parser that takes chunks as they come, and the way to write one."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
_LONGEST_RETRY = 9

COMMENT = b": keep-alive\n\n"


class EventTooLarge(ValueError):
    """An event has more bytes than the parser may hold."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its data (lines joined), its type (empty means `message`) and its id, None if it has none."""

    data: bytes
    type: bytes = b""
    id: bytes | None = None


class Parser:
    """Turn chunks into events; `limit` bounds the bytes of one event."""

    __slots__ = (
        "_begun",
        "_data",
        "_first",
        "_held",
        "_id",
        "_limit",
        "_parts",
        "_skip_newline",
        "_type",
        "retry",
    )

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # The line that has begun and not ended.
        self._parts: list[bytes] = []
        self._begun = 0
        self._first = True
        self._skip_newline = False
        # After how many milliseconds the sender wants us back, None if it did not say.
        self.retry: int | None = None
        self._clear()

    def _clear(self) -> None:
        self._held = 0
        self._data: list[bytes] = []
        self._type = b""
        self._id: bytes | None = None

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Return the events that this chunk completes; raise EventTooLarge."""
        if self._skip_newline and chunk:
            # The last chunk ended in CR: a LF that follows belongs to it.
            self._skip_newline = False
            chunk = chunk.removeprefix(b"\n")
        if not chunk:
            return []
        self._skip_newline = chunk.endswith(b"\r")
        lines = _LINE_END.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        self._parts.append(lines[0])
        self._begun += len(lines[0])
        self._check()
        if len(lines) == 1:
            return []
        lines[0] = b"".join(self._parts)
        rest = lines.pop()
        self._parts, self._begun = [rest], 0
        events = [event for line in lines if (event := self._line(line)) is not None]
        self._begun = len(rest)
        self._check()
        return events

    def _check(self) -> None:
        if self._held + self._begun > self._limit:
            raise EventTooLarge(f"an event of more than {self._limit} bytes")

    def _line(self, line: bytes) -> ServerEvent | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._complete()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._type = value
        elif field == b"id" and b"\0" not in value:
            self._id = value
        elif field == b"retry" and value.isdigit() and len(value) <= _LONGEST_RETRY:
            self.retry = int(value)
            return None
        else:
            return None
        # The line's end counts as well: a stream of empty lines is held too.
        self._held += len(value) + 1
        self._check()
        return None

    def _complete(self) -> ServerEvent | None:
        event = None
        if self._data or self._id is not None:
            event = ServerEvent(b"\n".join(self._data), self._type, self._id)
        self._clear()
        return event


def render(data: bytes, identity: bytes | None = None) -> bytes:
    """Write one event of type `message`."""
    head = b"" if identity is None else b"id: " + identity + b"\n"
    if b"\n" in data or b"\r" in data:
        return head + b"".join([b"data: " + line + b"\n" for line in _LINE_END.split(data)]) + b"\n"
    return head + b"data: " + data + b"\n\n"


def priming(identity: bytes, retry_milliseconds: int) -> bytes:
    """Write an event without data that gives a client an id to come back with, and when to."""
    return b"id: %b\nretry: %d\ndata:\n\n" % (identity, retry_milliseconds)


def retry(milliseconds: int) -> bytes:
    """Write when a client is to come back."""
    return b"retry: %d\n\n" % milliseconds
