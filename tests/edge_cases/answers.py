"""What servers answer to a request: wrong in every way with the reason that is told, or odd but right."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from tests.support.scripted import (
    EVENTS,
    JSON,
    Answer,
    Cut,
    Heard,
    Json,
    always,
    events,
    http,
    message,
    text,
)

LIMIT = 16 * 2**20
DONE: Json = {**text("done"), "resultType": "complete"}


def told(heard: Heard, **member: Any) -> bytes:
    return message(heard.message["id"], **member)


def half_stream(heard: Heard) -> Answer:
    whole = events(told(heard, result=DONE))
    return Cut(whole.replace(b"Content-Length: ", b"Content-Length: 9")[:-12])


def large(heard: Heard, size: int) -> bytes:
    return told(heard, result={**DONE, "pad": "x" * size})


def chunked(*parts: bytes) -> bytes:
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))


BAD: list[Any] = [
    pytest.param(lambda h: http(200, told(h, result=DONE)[:-1], JSON), "InvalidAnswer", id="half"),
    pytest.param(
        always(http(200, message(9**9, result=DONE), JSON)), "InvalidAnswer", id="wrong id"
    ),
    pytest.param(
        lambda h: http(200, message(str(h.message["id"]), result=DONE), JSON),
        "InvalidAnswer",
        id="id as text",
    ),
    pytest.param(always(http(200, message(None, result=DONE), JSON)), "InvalidAnswer", id="no id"),
    pytest.param(
        lambda h: http(200, told(h, method="roots/list"), JSON), "InvalidAnswer", id="a request"
    ),
    pytest.param(lambda h: http(200, told(h), JSON), "InvalidAnswer", id="no result"),
    pytest.param(always(http(200, b"\x00\xff\xfe", JSON)), "InvalidAnswer", id="garbage"),
    pytest.param(always(http(200, b"[]", JSON)), "InvalidAnswer", id="array"),
    pytest.param(always(http(200, b"null", JSON)), "InvalidAnswer", id="null"),
    pytest.param(
        lambda h: http(200, told(h, result=DONE).replace(b"done", b"\xff"), JSON),
        "InvalidAnswer",
        id="no UTF-8",
    ),
    pytest.param(always(http(200, b"", JSON)), "InvalidAnswer", id="empty 200"),
    pytest.param(always(http(200)), "InvalidAnswer", id="empty 200 without a type"),
    pytest.param(always(http(204)), "Rejected", id="204"),
    pytest.param(always(http(202)), "Rejected", id="202"),
    pytest.param(always(http(200, b"<html>login</html>", "text/html")), "InvalidAnswer", id="HTML"),
    pytest.param(
        always(http(200, b"<p>" + b"x" * 100_000, "text/html")), "InvalidAnswer", id="much HTML"
    ),
    pytest.param(always(http(500, b"<h1>500</h1>", "text/html")), "Rejected", id="500"),
    pytest.param(
        always(http(500, b"x" * 100_000, "text/html")), "Rejected", id="500 and much HTML"
    ),
    pytest.param(always(http(502, b"", "text/html")), "Rejected", id="502"),
    pytest.param(always(http(401, WWW_Authenticate="Bearer")), "Unauthorized", id="401"),
    pytest.param(always(http(403, b"{}", JSON)), "Unauthorized", id="403"),
    pytest.param(always(http(429)), "Overloaded", id="429"),
    pytest.param(always(http(503, b"busy")), "Overloaded", id="503"),
    pytest.param(always(Cut(b"")), "ConnectionLost", id="nothing"),
    pytest.param(always(Cut(b"HTTP/1.1 200 OK\r\nContent")), "ConnectionLost", id="half a head"),
    pytest.param(always(Cut(b"hello\r\n\r\n")), "ConnectionLost", id="no HTTP"),
    pytest.param(
        lambda h: Cut(http(200, told(h, result=DONE), JSON)[:-5]),
        "ConnectionLost",
        id="half a body",
    ),
    pytest.param(half_stream, "ConnectionLost", id="half a stream"),
    pytest.param(always(events()), "ConnectionLost", id="a stream without anything"),
    pytest.param(
        always(events(message(None, method="notifications/message", params={"level": "info"}))),
        "ConnectionLost",
        id="a stream without an answer",
    ),
    pytest.param(
        always(events(message(9**9, result=DONE))), "ConnectionLost", id="a stream for another"
    ),
    pytest.param(always(events(b"{broken")), "InvalidAnswer", id="a stream with garbage"),
    pytest.param(lambda h: http(200, large(h, LIMIT), JSON), "TooLarge", id="17 MiB"),
    pytest.param(
        lambda h: http(200, gzip.compress(large(h, LIMIT)), JSON, Content_Encoding="gzip"),
        "TooLarge",
        id="17 MiB in a few bytes",
    ),
    pytest.param(
        lambda h: http(200, told(h, result=DONE), JSON, Content_Encoding="gzip"),
        "ConnectionLost",
        id="no gzip",
    ),
    pytest.param(
        lambda h: http(200, told(h, result=DONE), JSON, Content_Length="7"),
        "ConnectionLost",
        id="two lengths",
    ),
    pytest.param(lambda h: events(large(h, LIMIT)), "TooLarge", id="17 MiB in one event"),
    pytest.param(
        lambda h: http(200, told(h, result=DONE), JSON, X="x" * 70_000),
        "ConnectionLost",
        id="a header of 70 kB",
    ),
]

GOOD: list[Any] = [
    pytest.param(lambda h: http(200, b" \n" + told(h, result=DONE) + b"\r\n", JSON), id="space"),
    pytest.param(lambda h: events(b"", told(h, result=DONE)), id="an empty event first"),
    pytest.param(
        lambda h: events(message(9**9, result={}), told(h, result=DONE)),
        id="another's answer first",
    ),
    pytest.param(
        lambda h: http(
            200, b"event: ping\ndata: x\n\ndata: " + told(h, result=DONE) + b"\n\n", EVENTS
        ),
        id="an event of another type first",
    ),
    pytest.param(
        lambda h: Cut(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + told(h, result=DONE)
        ),
        id="no length",
    ),
    pytest.param(
        lambda h: http(200, gzip.compress(told(h, result=DONE)), JSON, Content_Encoding="gzip"),
        id="gzip that nobody asked for",
    ),
    pytest.param(
        lambda h: chunked(told(h, result=DONE)[:7], told(h, result=DONE)[7:]), id="chunks"
    ),
    pytest.param(lambda h: http(200, large(h, LIMIT - 1000), JSON), id="nearly 16 MiB"),
    pytest.param(lambda h: events(large(h, LIMIT - 1000)), id="nearly 16 MiB in one event"),
    pytest.param(
        lambda h: http(200, told(h, result=DONE), JSON, X="x" * 60_000), id="a header of 60 kB"
    ),
]
