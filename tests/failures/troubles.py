"""What a scripted backend answers while it is in trouble."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

from tests.support.scripted import (
    EVENTS,
    JSON,
    Answer,
    Cut,
    Flow,
    Heard,
    Json,
    Script,
    always,
    events,
    http,
    message,
    result,
    text,
)

DONE: Json = {**text("done"), "resultType": "complete"}
HUGE = 100 * 2**20
UNPACKED = 2 * 2**30
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n"
_BLOCK = b"x" * 2**18
_ELSEWHERE = "http://192.0.2.1/mcp"


def told(heard: Heard, **member: Any) -> bytes:
    """Return a message with the id of a request."""
    return message(heard.message["id"], **member)


async def never(_: Heard) -> Answer:
    """Say nothing for ever."""
    return await asyncio.get_running_loop().create_future()


async def cut_off(_: Heard) -> Answer:
    """Hang up."""
    return Cut(b"")


def half(heard: Heard) -> Answer:
    """Answer with the first half of the JSON, and say that it is all."""
    whole = told(heard, result=DONE)
    return http(200, whole[: len(whole) // 2], JSON)


def garbage(_: Heard) -> Answer:
    """Answer with what is no text."""
    return http(200, b"\x00\xff\xfe{" * 100, JSON)


def huge(heard: Heard) -> Answer:
    """Answer with 100 MB."""
    return Flow(_huge(heard, _HEAD % JSON.encode(), b""))


def huge_event(heard: Heard) -> Answer:
    """Answer with one event of 100 MB."""
    return Flow(_huge(heard, _HEAD % EVENTS.encode(), b"data: "))


async def _huge(heard: Heard, headers: bytes, field: bytes) -> AsyncIterator[bytes]:
    head, tail = told(heard, result={**DONE, "pad": "@"}).split(b"@")
    length = len(field) + len(head) + HUGE + len(tail)
    yield headers + b"Content-Length: %d\r\n\r\n" % length + field + head
    for _ in range(HUGE // len(_BLOCK)):
        yield _BLOCK
    yield tail


@cache
def bomb() -> bytes:
    """Return 2 MB that unpack to 2 GB, and are packed once more to 10 kB."""
    return _packed(b"x" * 2**20)


@cache
def _comments() -> bytes:
    return _packed(b": keep-alive\n\n" * 2**16)


def _packed(block: bytes) -> bytes:
    """Return a gzip of a block again and again, 2 GB in all, as if it had been packed as a whole."""
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    following = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + following * (UNPACKED // len(block) - 1)


def prepare() -> None:
    """Make what takes long to make."""
    bomb()
    _comments()


def packed_twice(_: Heard) -> Answer:
    """Answer with 10 kB that are packed two times."""
    return http(200, gzip.compress(bomb(), 9), JSON, Content_Encoding="gzip, gzip")


def packed_once(_: Heard) -> Answer:
    """Answer with 2 MB that unpack to 2 GB."""
    return http(200, bomb(), JSON, Content_Encoding="gzip")


def wrong_id(_: Heard) -> Answer:
    """Answer another request than the one that was asked."""
    return http(200, message(9**9, result=DONE), JSON)


def twice(heard: Heard) -> Answer:
    """Answer twice, rightly and with other words."""
    first = {"content": [{"type": "text", "text": "echo"}], "resultType": "complete"}
    return events(told(heard, result=first), told(heard, result=DONE))


_STREAM = _HEAD % EVENTS.encode() + b"\r\n"
_PAUSE_SECONDS = 0.02


async def _repeated(first: bytes, part: bytes, seconds: float) -> AsyncIterator[bytes]:
    yield first
    while True:
        yield part
        await asyncio.sleep(seconds)


def dripping(_: Heard) -> Answer:
    """Answer so slowly that it never ends."""
    head = _HEAD % JSON.encode() + b"Content-Length: 100000\r\n\r\n"
    return Flow(_repeated(head, b" ", _PAUSE_SECONDS))


def commenting(_: Heard) -> Answer:
    """Keep a stream alive for ever, and never answer on it."""
    return Flow(_repeated(_STREAM, b": keep-alive\n\n", _PAUSE_SECONDS))


def chattering(_: Heard) -> Answer:
    """Send events for ever as fast as they are taken, none of which is the answer."""
    event = (
        b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug"}}\n\n'
    )
    return Flow(_repeated(_STREAM, event * 500, 0))


def endless_head(_: Heard) -> Answer:
    """Send headers for ever."""
    return Flow(_repeated(b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 100, 0))


def packed_comments(_: Heard) -> Answer:
    """Open a stream whose few MB unpack to 2 GB of comments."""
    return http(200, _comments(), EVENTS, Content_Encoding="gzip")


def redirect(status: int) -> Script:
    """Redirect to another host."""
    return always(http(status, Location=_ELSEWHERE))


def looping(heard: Heard) -> Answer:
    """List with a cursor that leads to the same page."""
    return result(heard, {"tools": [], "nextCursor": "again", "resultType": "complete"})


def counting(heard: Heard) -> Answer:
    """List page after page without end."""
    cursor = int(heard.params.get("cursor", 0)) + 1
    return result(heard, {"tools": [], "nextCursor": str(cursor), "resultType": "complete"})
