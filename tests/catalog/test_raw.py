from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmcp.catalog.raw import UnreadableError, members, quote

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES), st.sampled_from([None, 0, 2]))
def test_the_members_of_any_object_are_found_however_it_is_written(value, indent) -> None:
    found = members(json.dumps(value, indent=indent).encode())

    assert {json.loads(name): json.loads(raw) for name, raw in found} == value


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(b"{}", (), id="empty"),
        pytest.param(b' { "a" : 1.0 , "b":-0 } ', ((b'"a"', b"1.0"), (b'"b"', b"-0")), id="space"),
        pytest.param(b'{"a":1e5,"a":2}', ((b'"a"', b"1e5"), (b'"a"', b"2")), id="duplicates"),
        pytest.param(b'{"\\u0061":"\\u0062"}', ((b'"a"', b'"\\u0062"'),), id="escapes"),
        pytest.param(b'{"a":{ "x" :[ 1 ]}}', ((b'"a"', b'{ "x" :[ 1 ]}'),), id="nested"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}", ((b'"a"', b"9" * 5000),), id="huge number"),
    ],
)
def test_values_keep_their_bytes(raw, expected) -> None:
    assert members(raw) == expected


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"a"}',
        b'{"a":1,}',
        b"{1:2}",
        b'{"a":1}x',
        b"\xff",
        b'{"a":1 "b":2}',
    ],
)
def test_what_is_no_object_is_refused(raw) -> None:
    with pytest.raises(UnreadableError):
        members(raw)


def test_nesting_without_end_is_refused_like_other_nonsense() -> None:
    with pytest.raises(UnreadableError):
        members(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_is_quoted_so_that_it_comes_back(text) -> None:
    assert json.loads(quote(text)) == text


def test_text_beyond_ascii_is_not_escaped() -> None:
    assert quote("größer") == '"größer"'.encode()
