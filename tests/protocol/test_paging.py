"""Cursors survive the way to a client and back; foreign ones are refused."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.raw_json import TEXTS, VALUES
from vmcp.model.document import Document
from vmcp.protocol.document import EMPTY, quote
from vmcp.protocol.failures import InvalidParams
from vmcp.protocol.paging import after, cursor


def params(raw: bytes) -> Document:
    return Document(((b'"cursor"', raw),))


@given(TEXTS)
def test_a_cursor_leads_back_to_the_key_that_it_was_made_of(key: str) -> None:
    made = cursor(key)

    assert after(params(quote(made))) == key
    assert after(params(json.dumps(made).replace("A", "\\u0041").encode())) == key


@given(TEXTS)
def test_a_cursor_is_safe_in_urls(key: str) -> None:
    assert set(cursor(key)) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )


@pytest.mark.parametrize("document", [EMPTY, params(b"null")], ids=["absent", "null"])
def test_without_a_cursor_the_first_page_is_asked(document: Document) -> None:
    assert after(document) is None


@pytest.mark.parametrize(
    "raw",
    [b"1", b"{}", b"[]", b"true", b'"!"', b'"a"', b'"gA=="', b'"\xc3\xa9"', b'"\\ud800"', b'"/w"'],
)
def test_a_cursor_that_was_never_given_out_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidParams):
        after(params(raw))


@given(st.text(max_size=12).map(quote) | VALUES.map(str.encode))
def test_reading_a_cursor_raises_nothing_but_invalid_params(raw: bytes) -> None:
    with suppress(InvalidParams):
        after(params(raw))
