"""Headers that repeat a body are written, read and compared as the specification of 2026-07-28 says."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.raw_json import PLAIN_TEXTS, VALUES
from vmcp.protocol.failures import HeaderMismatch, InvalidParams
from vmcp.protocol.headers import check_params, decode, encode, param_values

NUMBER = (("Count", ("count",), "integer"),)
TEXT = (("Region", ("region",), "string"),)
FLAG = (("Dry", ("dry",), "boolean"),)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("add", "add"),
        ("", ""),
        ("two words", "two words"),
        ("~!#", "~!#"),
        (" add", "=?base64?IGFkZA==?="),
        ("add\t", "=?base64?YWRkCQ==?="),
        ("a\nb", "=?base64?YQpi?="),
        ("a\tb", "=?base64?YQli?="),
        ("é", "=?base64?w6k=?="),
        ("日本", "=?base64?5pel5pys?="),
        ("\x7f", "=?base64?fw==?="),
        ("=?base64?YWRk?=", "=?base64?PT9iYXNlNjQ/WVdSaz89?="),
        ("=?base64?%%?=", "=?base64?PT9iYXNlNjQ/JSU/PQ==?="),
        ("=?base64?", "=?base64?"),
    ],
)
def test_a_text_is_sent_as_it_is_where_that_is_safe_and_else_encoded(text: str, value: str) -> None:
    assert encode(text) == value
    assert decode(value) == text


@given(PLAIN_TEXTS | st.text("=?base64YWRk", max_size=20))
def test_every_text_survives_the_way_through_a_header(text: str) -> None:
    value = encode(text)

    assert decode(value) == text
    assert value == value.strip()
    assert all(" " <= character <= "~" for character in value)


def test_a_text_that_utf_8_cannot_write_is_refused() -> None:
    with pytest.raises(InvalidParams):
        encode("\ud800")


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param("%%", id="no base64"),
        pytest.param("YWR", id="no padding"),
        pytest.param("YWRk=", id="too much padding"),
        pytest.param("Y WRk", id="space"),
        pytest.param("_-8=", id="alphabet of URLs"),
        pytest.param("/w==", id="no UTF-8"),
        pytest.param("7aCA", id="a surrogate"),
        pytest.param("YWRkYR==", id="bits that no encoder leaves"),
        pytest.param("YWRk?=x=?base64?YWRk", id="two in one"),
    ],
)
def test_a_broken_encoding_never_equals_anything(inner: str) -> None:
    with pytest.raises(HeaderMismatch):
        decode(f"=?base64?{inner}?=")


@given(st.text(st.characters(codec="latin-1"), max_size=20))
def test_reading_a_value_raises_nothing_but_a_mismatch(value: str) -> None:
    for given_value in (value, f"=?base64?{value}?="):
        with suppress(HeaderMismatch):
            decode(given_value)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (None, {}),
        (b"{}", {}),
        (b"[]", {}),
        (b'"region"', {}),
        (b'{"region":null,"count":null,"dry":null}', {}),
        (b'{"region":"eu","count":7,"dry":true}', {"region": "eu", "count": "7", "dry": "true"}),
        (b'{"region":"","count":-0,"dry":false}', {"region": "", "count": "-0", "dry": "false"}),
        (b'{"r\\u0065gion":"e\\u0075"}', {"region": "eu"}),
        (b'{"region":" eu"}', {"region": "=?base64?IGV1?="}),
        (b'{"region":"\xc3\xa9"}', {"region": "=?base64?w6k=?="}),
        (b'{"count":9007199254740993}', {"count": "9007199254740993"}),
        (b'{"count":42.0}', {"count": "42.0"}),
        (b'{"count":1e3}', {"count": "1000"}),
        (b'{"count":"7"}', {"count": "7"}),
        (b'{"region":{"a":1},"count":[1]}', {}),
    ],
)
def test_headers_are_made_of_arguments(arguments: bytes | None, expected: dict[str, str]) -> None:
    made = param_values(arguments, NUMBER + TEXT + FLAG)

    assert made == {f"mcp-param-{name}": value for name, value in expected.items()}


def test_nested_arguments_are_found_by_their_path() -> None:
    wanted = (("Zone", ("place", "zone"), "string"),)

    assert param_values(b'{"place":{"zone":"b"}}', wanted) == {"mcp-param-zone": "b"}
    for arguments in (b'{"place":{}}', b'{"place":"zone"}', b'{"zone":"b"}', b'{"place":[{}]}'):
        assert param_values(arguments, wanted) == {}


@pytest.mark.parametrize(
    ("value", "argument"),
    [
        ("42", b"42"),
        ("42.0", b"42"),
        ("42", b"42.0"),
        ("042", b"42"),
        ("-0", b"0"),
        ("9007199254740993", b"9007199254740993"),
        ("9" * 5000, b"9" * 5000),
        ("1000", b"1e3"),
        ("=?base64?NDI=?=", b"42"),
    ],
)
def test_numbers_that_are_equal_agree(value: str, argument: bytes) -> None:
    check_params({"mcp-param-count": value}, b'{"count":%b}' % argument, NUMBER)


@pytest.mark.parametrize(
    ("value", "argument"),
    [
        ("43", b"42"),
        ("42.5", b"42"),
        ("4_2", b"42"),
        ("+42", b"42"),
        (" 42", b"42"),
        ("٤٢", b"42"),
        ("42e0", b"42"),
        ("", b"0"),
        ("forty-two", b"42"),
        ("9007199254740992", b"9007199254740993"),
        ("1" + "0" * 400, b"1e400"),
        ("true", b"1"),
        ("7", b"[7]"),
    ],
)
def test_numbers_that_are_not_equal_are_a_mismatch(value: str, argument: bytes) -> None:
    with pytest.raises(HeaderMismatch):
        check_params({"mcp-param-count": value}, b'{"count":%b}' % argument, NUMBER)


@pytest.mark.parametrize("value", ["EU", "eu ", "=?base64?RVU=?=", "=?base64?%?=", ""])
def test_texts_are_compared_exactly(value: str) -> None:
    with pytest.raises(HeaderMismatch):
        check_params({"mcp-param-region": value}, b'{"region":"eu"}', TEXT)


def test_truth_is_compared_by_its_word() -> None:
    check_params({"mcp-param-dry": "true"}, b'{"dry":true}', FLAG)
    for value in ("True", "1", "false"):
        with pytest.raises(HeaderMismatch):
            check_params({"mcp-param-dry": value}, b'{"dry":true}', FLAG)


def test_a_header_and_its_argument_are_there_together_or_not_at_all() -> None:
    check_params({}, b"{}", TEXT)
    check_params({}, b'{"region":null}', TEXT)
    check_params({}, None, TEXT)
    check_params({"mcp-param-other": "x"}, b"{}", TEXT)

    for headers, arguments in (
        ({}, b'{"region":"eu"}'),
        ({"mcp-param-region": "eu"}, b"{}"),
        ({"mcp-param-region": ""}, b'{"region":null}'),
        ({"mcp-param-region": "eu"}, None),
    ):
        with pytest.raises(HeaderMismatch):
            check_params(headers, arguments, TEXT)


@given(VALUES, st.sampled_from(["string", "integer", "boolean"]))
def test_what_we_send_for_an_argument_passes_our_own_check(value: str, kind: str) -> None:
    wanted = (("X", ("a",), kind),)
    arguments = b'{"a":' + value.encode() + b"}"

    with suppress(InvalidParams):
        check_params(param_values(arguments, wanted), arguments, wanted)
