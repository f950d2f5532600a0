"""The annotations `x-mcp-header` of a schema are found where they may stand, and refused elsewhere."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given

from tests.protocol.raw_json import VALUES
from vmcp.protocol.annotations import param_headers


def schema(properties: object, **more: object) -> bytes:
    return json.dumps({"type": "object", "properties": properties, **more}).encode()


MARKED = {"type": "string", "x-mcp-header": "Region"}


@pytest.mark.parametrize(
    ("given_schema", "expected"),
    [
        pytest.param(schema({}), (), id="no properties"),
        pytest.param(b'{"type":"object"}', (), id="no annotation"),
        pytest.param(schema({"r": MARKED}), (("Region", ("r",), "string"),), id="one"),
        pytest.param(
            schema({"a": {"type": "object", "properties": {"b": MARKED}}}),
            (("Region", ("a", "b"), "string"),),
            id="nested",
        ),
        pytest.param(
            schema({"n": {"type": "integer", "x-mcp-header": "N"}}),
            (("N", ("n",), "integer"),),
            id="integer",
        ),
        pytest.param(
            schema({"f": {"type": "boolean", "x-mcp-header": "!#$%&'*+-.^_`|~9aZ"}}),
            (("!#$%&'*+-.^_`|~9aZ", ("f",), "boolean"),),
            id="every character of a token",
        ),
        pytest.param(
            schema({"properties": MARKED}),
            (("Region", ("properties",), "string"),),
            id="a property named properties",
        ),
        pytest.param(
            schema({"x-mcp-header": {"type": "string"}}), (), id="a property named x-mcp-header"
        ),
        pytest.param(
            schema({"x-mcp-header": MARKED}),
            (("Region", ("x-mcp-header",), "string"),),
            id="such a property with an annotation",
        ),
        pytest.param(
            schema({"r": {"enum": ["x-mcp-header"]}}, required=["x-mcp-header"]), (), id="as data"
        ),
        pytest.param(
            schema({"r": {"type": "object", "default": MARKED, "examples": [MARKED]}}),
            (),
            id="in default and examples",
        ),
        pytest.param(
            b'{"properties":{"a b":{"type":"string","x-mcp-header":"\\u0041"}}}',
            (("A", ("a b",), "string"),),
            id="escaped",
        ),
    ],
)
def test_annotations_are_found(
    given_schema: bytes, expected: tuple[tuple[str, tuple[str, ...], str], ...]
) -> None:
    assert param_headers(given_schema) == expected


def test_no_schema_has_no_annotations() -> None:
    assert param_headers(None) == ()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(schema({"r": {**MARKED, "x-mcp-header": ""}}), id="empty"),
        pytest.param(schema({"r": {**MARKED, "x-mcp-header": "a b"}}), id="space"),
        pytest.param(schema({"r": {**MARKED, "x-mcp-header": "a:b"}}), id="colon"),
        pytest.param(schema({"r": {**MARKED, "x-mcp-header": "é"}}), id="not ASCII"),
        pytest.param(schema({"r": {**MARKED, "x-mcp-header": "a\r\nb"}}), id="line break"),
        pytest.param(schema({"r": {**MARKED, "x-mcp-header": "a\n"}}), id="line break at the end"),
        pytest.param(schema({"r": {**MARKED, "x-mcp-header": 1}}), id="number"),
        pytest.param(schema({"r": {**MARKED, "x-mcp-header": None}}), id="null"),
        pytest.param(schema({"r": {**MARKED, "type": "number"}}), id="type number"),
        pytest.param(schema({"r": {**MARKED, "type": "object"}}), id="type object"),
        pytest.param(schema({"r": {**MARKED, "type": "array"}}), id="type array"),
        pytest.param(schema({"r": {**MARKED, "type": ["string", "null"]}}), id="two types"),
        pytest.param(schema({"r": {"x-mcp-header": "Region"}}), id="no type"),
        pytest.param(
            schema({"a": MARKED, "b": {**MARKED, "x-mcp-header": "REGION"}}), id="same twice"
        ),
        pytest.param(schema({}, **{"x-mcp-header": "Region"}), id="at the root"),
        pytest.param(schema({"a": {"type": "array", "items": MARKED}}), id="items"),
        pytest.param(schema({"a": {"anyOf": [MARKED]}}), id="anyOf"),
        pytest.param(schema({"a": {"allOf": [{"properties": {"b": MARKED}}]}}), id="within allOf"),
        pytest.param(schema({}, **{"if": {"properties": {"a": MARKED}}}), id="if"),
        pytest.param(schema({}, **{"not": MARKED}), id="not"),
        pytest.param(schema({}, **{"$defs": {"a": MARKED}}), id="$defs"),
        pytest.param(schema({}, patternProperties={"a": MARKED}), id="patternProperties"),
        pytest.param(schema({}, additionalProperties=MARKED), id="additionalProperties"),
    ],
)
def test_an_invalid_annotation_is_refused_with_a_reason(wrong: bytes) -> None:
    with pytest.raises(ValueError, match="x-mcp-header"):
        param_headers(wrong)


@given(VALUES, VALUES)
def test_any_schema_is_read_or_refused_with_a_value_error(one: str, other: str) -> None:
    mark = f'"type":"string","x-mcp-header":{other}'
    with suppress(ValueError):
        param_headers(f'{{"properties":{{"a":{{{mark},"items":{one}}}}},"x":{one}}}'.encode())


def test_schemas_nested_deeply_are_read() -> None:
    raw = b'{"type":"string","x-mcp-header":"Region"}'
    for _ in range(400):
        raw = b'{"properties":{"a":' + raw + b"}}"

    assert param_headers(raw) == (("Region", ("a",) * 400, "string"),)
