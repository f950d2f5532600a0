"""JSON is split and joined without touching the bytes of its values, and only real JSON is."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.protocol.raw_json import MASKS, MEMBERS, SPACE, TEXTS, VALUES, written
from vmcp.model.document import Document
from vmcp.protocol.document import (
    EMPTY,
    MOST_MEMBERS,
    MalformedJson,
    duplicates,
    is_object,
    quote,
    split,
    split_array,
    unquote,
)


@given(MEMBERS, SPACE)
def test_every_member_is_found_in_order_with_the_bytes_of_its_value(
    members: list[tuple[str, int, str]], space: str
) -> None:
    inner = ",".join(
        f"{space}{written(key, mask)}{space}:{space}{value}{space}" for key, mask, value in members
    )

    found = split(f"{space}{{{inner}{space}}}{space}".encode())

    assert [(json.loads(key), value) for key, value in found.members] == [
        (key, value.encode()) for key, _, value in members
    ]


@given(MEMBERS)
def test_joining_what_was_split_gives_the_bytes_back(members: list[tuple[str, int, str]]) -> None:
    raw = b"{" + b",".join(quote(key) + b":" + value.encode() for key, _, value in members) + b"}"

    assert split(raw).join() == raw


@given(st.lists(VALUES, max_size=4), SPACE)
def test_every_item_of_an_array_is_found_with_its_bytes(items: list[str], space: str) -> None:
    raw = f"{space}[{space}" + f"{space},{space}".join(items) + f"{space}]{space}"

    assert split_array(raw.encode()) == tuple(item.encode() for item in items)


@given(TEXTS, MASKS)
def test_a_string_is_read_whichever_way_it_was_written(text: str, mask: int) -> None:
    assert unquote(written(text, mask).encode()) == text


@given(TEXTS)
def test_a_quoted_text_is_json_of_that_text(text: str) -> None:
    assert json.loads(quote(text)) == text


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b" ", id="white space"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="array"),
        pytest.param(b'"{}"', id="string"),
        pytest.param(b"{", id="not closed"),
        pytest.param(b"}", id="not opened"),
        pytest.param(b"{}{}", id="two objects"),
        pytest.param(b"{} x", id="text behind it"),
        pytest.param(b'{"a"}', id="no value"),
        pytest.param(b'{"a":}', id="empty value"),
        pytest.param(b'{"a":1,}', id="trailing comma"),
        pytest.param(b'{,"a":1}', id="leading comma"),
        pytest.param(b'{"a":1 "b":2}', id="no comma"),
        pytest.param(b"{a:1}", id="bare key"),
        pytest.param(b"{'a':1}", id="single quotes"),
        pytest.param(b"{1:1}", id="number as key"),
        pytest.param(b'{"a":NaN}', id="NaN"),
        pytest.param(b'{"a":[-Infinity]}', id="Infinity within"),
        pytest.param(b'{"a":01}', id="leading zero"),
        pytest.param(b'{"a":1.}', id="no digit after the point"),
        pytest.param(b'{"a":+1}', id="plus sign"),
        pytest.param(b'{"a":tru}', id="half a word"),
        pytest.param(b'{"a":"\\x"}', id="unknown escape"),
        pytest.param(b'{"a":"\\u12"}', id="short escape"),
        pytest.param(b'{"a":"\x01"}', id="control character"),
        pytest.param(b'{"a":"b}', id="string not closed"),
        pytest.param(b'{"a":1/*c*/}', id="comment"),
        pytest.param(b'\xef\xbb\xbf{"a":1}', id="byte order mark"),
        pytest.param(b'{"\xff":1}', id="key that is not UTF-8"),
        pytest.param(b'{"a":1,"a":"\xff"}', id="value that is not UTF-8 beside a duplicate"),
        pytest.param(b'\x0b{"a":1}', id="vertical tab before it"),
        pytest.param('{"a":1}\N{NO-BREAK SPACE}'.encode(), id="no-break space behind it"),
    ],
)
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedJson):
        split(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[",
        b"[1",
        b"[1,",
        b"[1,]",
        b"[,1]",
        b"[1 2]",
        b"[1]]",
        b"[NaN]",
        b'["\xff",1,]',
    ],
)
def test_what_is_no_json_array_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedJson):
        split_array(raw)


@pytest.mark.parametrize(
    "raw", [b"", b"a", b"1", b"null", b"[]", b'"a', b'"a"b', b'"\\q"', b'"\n"', b'"\xff"', b"NaN"]
)
def test_what_is_no_json_string_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedJson):
        unquote(raw)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'], ids=["arrays", "objects"])
@pytest.mark.parametrize("depth", [2_000, 1_000_000])
@pytest.mark.parametrize("read", [split, split_array, unquote])
def test_nesting_without_end_is_refused(
    read: Callable[[bytes], object], opening: bytes, depth: int
) -> None:
    with pytest.raises(MalformedJson):
        read(b'{"a":' + opening * depth)


@given(st.binary(max_size=30))
@example(b'{"\\ud800":"\\ud800"}')
@example(b'{"a":"\xed\xa0\x80"}')
@example(b'{"a":1,"a":' + b"9" * 5000 + b"}")
def test_reading_raises_nothing_but_its_own_error(raw: bytes) -> None:
    for read in (split, split_array, unquote):
        with suppress(MalformedJson):
            read(raw)


def test_numbers_keep_their_digits() -> None:
    raw = b'{"a":1.0,"b":-0,"c":1e5,"d":9007199254740993,"e":' + b"9" * 5000 + b"}"

    assert split(raw).join() == raw
    assert split(raw.replace(b'"b"', b'"a"')).join() == raw.replace(b'"b"', b'"a"')


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        (b'{"a": 12, "a": 1}', [b"12", b"1"]),
        (b'{"a": 1, "a": 12}', [b"1", b"12"]),
        (b'{"a": 1, "a": 1}', [b"1", b"1"]),
        (b'{"a": 1, "b": 2, "a": 1}', [b"1", b"2", b"1"]),
        (b'{"a": {"a": 1}, "a": {"a": 1} }', [b'{"a": 1}', b'{"a": 1}']),
        (b'{"a":1,"a":1}', [b"1", b"1"]),
        (b'{ "a":"b", "b":"a" }', [b'"b"', b'"a"']),
    ],
)
def test_members_that_look_alike_are_all_found(raw: bytes, values: list[bytes]) -> None:
    assert [value for _, value in split(raw).members] == values


def test_keys_that_are_equal_once_unescaped_are_duplicates() -> None:
    document = split(b'{"name":1,"n\\u0061me":2,"other":3}')

    assert duplicates(document) == {b'"name"'}
    assert document.get(b'"name"') == b"2"


@pytest.mark.timeout(20)
def test_a_hundred_thousand_keys_are_compared_in_time() -> None:
    many = Document(tuple((b'"%d"' % number, b"0") for number in range(100_000)))

    assert duplicates(many) == frozenset()
    assert duplicates(Document((*many.members, (b'"7"', b"1")))) == {b'"7"'}


def test_keys_that_clients_invent_do_not_become_one_another() -> None:
    for number in range(3000):
        assert split(b'{"k%d":1}' % number).members == ((b'"k%d"' % number, b"1"),)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(b"{}", True), (b' \t\r\n{"a":1}', True), (b"[]", False), (b'"{"', False), (b"", False)],
)
def test_an_object_is_told_by_its_first_character(raw: bytes, *, expected: bool) -> None:
    assert is_object(raw) is expected


def test_the_empty_document_is_an_empty_object() -> None:
    assert split(b"{}") == split(b" { } ") == EMPTY
    assert EMPTY.join() == b"{}"


WHOLE = b' {"a": [1, {"b": "\\ud83d\\ude00\xc3\xa9"}], "c":-1.5e3 ,"d": null, "":true}'


@pytest.mark.parametrize("place", range(len(WHOLE)))
def test_an_object_cut_off_at_any_byte_is_refused(place: int) -> None:
    with pytest.raises(MalformedJson):
        split(WHOLE[:place])


@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=3))
def test_an_object_with_other_bytes_in_it_is_split_into_real_json_or_refused(
    place: int, other: bytes
) -> None:
    raw = WHOLE[:place] + other + WHOLE[place + 1 :]

    with suppress(MalformedJson):
        for key, value in split(raw).members:
            # Whether a message is UTF-8 is told for the whole of it, before it is split.
            json.loads((b"[" + key + b"," + value + b"]").decode(errors="replace"))


@pytest.mark.parametrize("key", ["k%d", "k"], ids=["different", "the same"])
@pytest.mark.parametrize("more", [0, 1], ids=["as many as may be", "one too many"])
def test_an_object_has_so_many_members_at_most(key: str, more: int) -> None:
    named = [key % at if "%" in key else key for at in range(MOST_MEMBERS + more)]
    raw = b"{" + b",".join(b'"%b":1' % name.encode() for name in named) + b"}"

    if more:
        with pytest.raises(MalformedJson, match="members"):
            split(raw)
    else:
        assert len(split(raw).members) == MOST_MEMBERS
