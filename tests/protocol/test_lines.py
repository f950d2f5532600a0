from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmcp.protocol.lines import Lines, Overlong, answered_id

LIMIT = 100


@given(
    lines=st.lists(st.binary(max_size=80).filter(lambda line: b"\n" not in line), max_size=8),
    cuts=st.lists(st.integers(0, 700), max_size=12),
)
def test_lines_come_out_whole_wherever_the_chunks_were_cut(
    lines: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    parser = Lines(LIMIT)

    found = [line for a, b in pairwise(bounds) for line in parser.feed(stream[a:b])]

    assert found == [line.strip() for line in lines]


def test_a_line_without_its_end_is_held_back() -> None:
    parser = Lines(LIMIT)

    assert parser.feed(b"first\nsec") == [b"first"]
    assert parser.feed(b"ond\r\n") == [b"second"]


@pytest.mark.parametrize("size", [1, 7, 64, 5000], ids=str)
def test_a_line_above_the_limit_leaves_its_two_ends_and_the_next_line_whole(size: int) -> None:
    stream = b"head" + b"x" * 4000 + b"tail\nnext\n"
    parser = Lines(LIMIT)

    found = [
        line for at in range(0, len(stream), size) for line in parser.feed(stream[at : at + size])
    ]

    overlong, following = found
    assert isinstance(overlong, Overlong)
    assert overlong.head.startswith(b"head")
    assert overlong.tail.endswith(b"tail")
    assert len(overlong.head) + len(overlong.tail) <= 2048
    assert following == b"next"


def test_a_line_of_exactly_the_limit_passes() -> None:
    assert Lines(LIMIT).feed(b"x" * LIMIT + b"\n") == [b"x" * LIMIT]
    assert isinstance(Lines(LIMIT).feed(b"x" * (LIMIT + 1) + b"\n")[0], Overlong)


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        (b'{"jsonrpc":"2.0","id":12,"result":{"id":3}}', b"12"),
        (b'{ "jsonrpc" : "2.0" , "id" : 12 , "error" : {}}', b"12"),
        (b'{"id":12,"jsonrpc":"2.0","result":{}}', b"12"),
        (b'{"result":{"id":3},"jsonrpc":"2.0","id":12}', b"12"),
        (b'{"jsonrpc":"2.0","result":{"id":3},"id":12}', b"12"),
        (b'{"result":{"id":3},"id":12,"jsonrpc":"2.0"} ', b"12"),
        (b'{"result":{"a":1,"id":3}}', None),
        (b'{"jsonrpc":"2.0","id":12,"method":"sampling/createMessage"}', None),
        (b'{"method":"ping","jsonrpc":"2.0","id":12}', None),
        (b'{"jsonrpc":"2.0","id":"twelve","result":{}}', None),
        (b"banner of a server", None),
    ],
)
def test_the_request_that_a_line_answers_is_told_from_its_ends(
    line: bytes, identity: bytes | None
) -> None:
    assert answered_id(line, line) == identity


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=4))
def test_an_id_within_the_result_is_never_taken_for_that_of_the_answer(
    result: dict[str, object],
) -> None:
    message = json.dumps({"result": result, "jsonrpc": "2.0", "id": 7}).encode()

    assert answered_id(message, message) == b"7"


WHOLE = b'{"id":1}\r\n\n' + b"h" * (LIMIT + 1) + b'"\xc3\xa9"\n ping \nrest'


def told(lines: list[bytes | Overlong], limit: int) -> list[bytes | tuple[bytes, bytes]]:
    """Return lines as far as they are promised: of one that is too long, the bytes up to the limit and its end."""
    return [
        (line.head[:limit], line.tail) if isinstance(line, Overlong) else line for line in lines
    ]


@pytest.mark.parametrize("place", range(len(WHOLE) + 1))
def test_lines_may_be_cut_at_every_byte(place: int) -> None:
    parser = Lines(LIMIT)

    found = [*parser.feed(WHOLE[:place]), *parser.feed(b""), *parser.feed(WHOLE[place:])]

    assert told(found, LIMIT) == told(Lines(LIMIT).feed(WHOLE), LIMIT)


def test_lines_may_come_byte_by_byte() -> None:
    parser = Lines(LIMIT)

    found = [line for at in range(len(WHOLE)) for line in parser.feed(WHOLE[at : at + 1])]

    assert told(found, LIMIT) == told(Lines(LIMIT).feed(WHOLE), LIMIT)


@given(st.lists(st.binary(max_size=60), max_size=12))
def test_cutting_lines_raises_nothing_and_depends_on_no_chunk(chunks: list[bytes]) -> None:
    parser = Lines(20)

    found = [line for chunk in chunks for line in parser.feed(chunk)]

    assert told(found, 20) == told(Lines(20).feed(b"".join(chunks)), 20)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_looking_for_an_id_raises_nothing(head: bytes, tail: bytes) -> None:
    found = answered_id(b'{"id":1,' + head, tail)

    assert found is None or found.isdigit()
