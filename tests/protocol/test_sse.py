"""Event streams give the same events however they are cut into chunks and whichever way lines end."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vmcp.protocol.sse import COMMENT, EventTooLarge, Parser, ServerEvent, priming, render, retry

LIMIT = 2**20


def parsed(chunks: Iterable[bytes], limit: int = LIMIT) -> list[ServerEvent]:
    parser = Parser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)]


def cut(whole: bytes, places: Iterable[int]) -> list[bytes]:
    bounds = [0, *sorted(place for place in places if place <= len(whole)), len(whole)]
    return [whole[a:b] for a, b in pairwise(bounds)]


LINES = st.lists(
    st.sampled_from(
        [
            b"data: a",
            b"data:b",
            b"data",
            b"data:  two spaces",
            b"data: \xc3\xa9",
            b"data::",
            b"event: message",
            b"event: ping",
            b"event",
            b"id: 7",
            b"id",
            b"id: \0",
            b"retry: 10",
            b"retry: soon",
            b": comment",
            b":",
            b"unknown: x",
            b"DATA: upper",
            b" data: indented",
            b"\xef\xbb\xbfdata: mark",
            b"",
            b"",
            b"",
        ]
    ),
    max_size=12,
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])
CUTS = st.lists(st.integers(0, 80), max_size=8)


def told(lines: Iterable[bytes]) -> list[ServerEvent]:
    """Return what the specification makes of lines, in the plainest way."""
    events: list[ServerEvent] = []
    data: list[bytes] = []
    kind, identity = b"", None
    for at, given_line in enumerate(lines):
        line = given_line[3:] if at == 0 and given_line[:3] == b"\xef\xbb\xbf" else given_line
        name, value = line.split(b":", 1) if b":" in line else (line, b"")
        value = value[1:] if value[:1] == b" " else value
        if line == b"":
            if data or identity is not None:
                events.append(ServerEvent(b"\n".join(data), kind, identity))
            data, kind, identity = [], b"", None
        elif name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value
        elif name == b"id" and b"\0" not in value:
            identity = value
    return events


@given(LINES, st.lists(ENDS, min_size=12, max_size=12), CUTS)
@example([b"data: a", b"", b"data: b", b""], [b"\r"] * 12, list(range(30)))
def test_lines_ended_in_any_mix_and_cut_anywhere_give_the_same_events(
    lines: list[bytes], ends: list[bytes], cuts: list[int]
) -> None:
    whole = b"".join(line + end for line, end in zip(lines, ends, strict=False))

    assert parsed(cut(whole, cuts)) == parsed([whole])


@given(LINES, ENDS)
def test_each_kind_of_line_end_gives_what_the_specification_says(
    lines: list[bytes], end: bytes
) -> None:
    assert parsed([b"".join(line + end for line in lines)]) == told(lines)


STREAM = b'\xef\xbb\xbf: hi\r\n\r\nid: 1\r\ndata: {"a":\rdata: "\xc3\xa9"}\n\nevent: x\ndata: y\r\rdata: z\n\r\n'
EVENTS = [
    ServerEvent(b'{"a":\n"\xc3\xa9"}', b"", b"1"),
    ServerEvent(b"y", b"x"),
    ServerEvent(b"z"),
]


@pytest.mark.parametrize("place", range(len(STREAM) + 1))
def test_a_stream_may_be_cut_at_every_byte(place: int) -> None:
    assert parsed([STREAM[:place], STREAM[place:]]) == EVENTS
    assert parsed([STREAM[:place], b"", STREAM[place:]]) == EVENTS


def test_a_stream_may_come_byte_by_byte() -> None:
    assert parsed(cut(STREAM, range(len(STREAM)))) == EVENTS


def test_an_event_is_given_as_soon_as_its_empty_line_has_begun() -> None:
    parser = Parser(LIMIT)

    assert parser.feed(b"data: a\r") == []
    assert parser.feed(b"\n\r") == [ServerEvent(b"a")]
    assert parser.feed(b"\ndata: b\n\n") == [ServerEvent(b"b")]


def test_an_event_that_is_not_complete_is_none() -> None:
    assert parsed([b"data: a\n", b"data: b\n", b"data: c"]) == []


def test_a_byte_order_mark_counts_at_the_beginning_only() -> None:
    mark = b"\xef\xbb\xbf"

    assert parsed([mark + b"data: a\n\n"]) == [ServerEvent(b"a")]
    assert parsed([b"\n" + mark + b"data: a\n\n"]) == []
    assert parsed([b"data: a\n\n" + mark + b"data: b\n\n"]) == [ServerEvent(b"a")]


def test_type_and_id_belong_to_one_event_alone() -> None:
    assert parsed([b"event: x\nid: 1\ndata: a\n\ndata: b\n\n"]) == [
        ServerEvent(b"a", b"x", b"1"),
        ServerEvent(b"b"),
    ]


def test_an_event_with_an_id_and_no_data_is_told() -> None:
    assert parsed([b"id: 7\ndata:\n\nid: 8\n\n"]) == [
        ServerEvent(b"", b"", b"7"),
        ServerEvent(b"", b"", b"8"),
    ]


def chunks_of(whole: bytes, size: int) -> list[bytes]:
    return cut(whole, range(0, len(whole), size))


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_an_event_up_to_the_limit_passes_however_it_is_cut(size: int) -> None:
    data = b"x" * 900
    stream = (b": comment\n\nid: 1\ndata: " + data + b"\n\n") * 3

    assert [event.data for event in parsed(chunks_of(stream, size), 1000)] == [data] * 3


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"data: " + b"x" * 1001 + b"\n\n", id="one line"),
        pytest.param(b"data: " + b"x" * 1001, id="a line without an end"),
        pytest.param((b"data: " + b"x" * 100 + b"\n") * 11 + b"\n", id="many lines"),
        pytest.param(b"data\n" * 1001 + b"\n", id="many empty lines"),
        pytest.param(b": " + b"x" * 1001, id="a comment without an end"),
        pytest.param(b"event: " + b"x" * 1001 + b"\n\n", id="a type"),
        pytest.param(b"id: " + b"x" * 1001 + b"\n\n", id="an id"),
    ],
)
def test_an_event_past_the_limit_is_refused_however_it_is_cut(stream: bytes, size: int) -> None:
    with pytest.raises(EventTooLarge, match="1000"):
        parsed(chunks_of(stream, size), 1000)


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_comments_and_small_events_never_add_up_to_the_limit(size: int) -> None:
    stream = b": keep-alive\n" * 200 + COMMENT * 200 + b"retry: 1\n" * 200 + b"data: a\n\n" * 200

    assert len(parsed(chunks_of(stream, size), 100)) == 200


@given(st.lists(st.binary(max_size=20), max_size=6))
def test_reading_raises_nothing_but_its_own_error(chunks: list[bytes]) -> None:
    with suppress(EventTooLarge):
        parsed(chunks, 50)


@given(st.binary(max_size=40).map(lambda raw: raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")))
def test_what_is_rendered_is_read_back(data: bytes) -> None:
    assert parsed([render(data)]) == [ServerEvent(data)]


def test_the_comment_of_a_keep_alive_is_no_event() -> None:
    assert parsed([COMMENT, render(b"a"), COMMENT]) == [ServerEvent(b"a")]


@given(st.binary(max_size=40).map(lambda raw: raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")))
def test_an_event_with_an_id_is_read_back(data: bytes) -> None:
    assert parsed([render(data, b"a-1")]) == [ServerEvent(data, id=b"a-1")]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_an_event_that_gives_an_id_and_a_time_is_read_back(size: int) -> None:
    parser = Parser(1000)
    chunks = chunks_of(priming(b"a-0", 1500) + render(b"x", b"a-1"), size)

    events = [event for chunk in chunks for event in parser.feed(chunk)]

    assert events == [ServerEvent(b"", id=b"a-0"), ServerEvent(b"x", id=b"a-1")]
    assert parser.retry == 1500


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        (retry(250), 250),
        (b"retry: 0\n", 0),
        (b"retry:7\nretry: 8\n", 8),
        (b"retry: 5\nretry: soon\n", 5),
        (b"retry: -1\n", None),
        (b"retry:\n", None),
        (b"retry: 1.5\n", None),
        (b"retry: 12345678901\n", None),
        (b"retry: \xb2\n", None),
    ],
)
def test_the_time_to_come_back_after_is_a_whole_number(stream: bytes, told: int | None) -> None:
    parser = Parser(1000)

    assert parser.feed(stream) == []
    assert parser.retry == told
