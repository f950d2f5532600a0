"""The checker of schemas finds what it is there for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crd.structural import complaints

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}


def mapping(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def ruled(rule: str, **more: Any) -> dict[str, Any]:
    rules = [{"rule": rule, "message": "m", **more}]
    return {**mapping(a=TEXTS), "x-kubernetes-validations": rules}


BAD = {
    "no type": {},
    "a union": {"anyOf": [TEXT]},
    "a reference": {"$ref": "#/a"},
    "a bound of another type": {"type": "string", "minimum": 1},
    "two kinds of members": {**mapping(a=TEXT), "additionalProperties": TEXT},
    "requires what is not there": {**mapping(a=TEXT), "required": ["b"]},
    "a list of nothing": {"type": "array"},
    "a set of mappings": {"type": "array", "items": mapping(), "x-kubernetes-list-type": "set"},
    "a key that may be absent": {
        "type": "array",
        "items": mapping(name=TEXT),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    "a key that is not there": {
        "type": "array",
        "items": mapping(),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    "a default of another type": {"type": "integer", "default": "1"},
    "a default that is no choice": {"type": "string", "enum": ["a"], "default": "b"},
    "a default that the pattern refuses": {"type": "string", "pattern": "^a$", "default": "b"},
    "a default out of range": {"type": "integer", "minimum": 1, "default": 0},
    "a lookahead": {"type": "string", "pattern": "^(?=a)"},
    "an enum of another type": {"type": "string", "enum": [1]},
    "a rule of a field that is not there": ruled("true", fieldPath=".b"),
    "a rule through what is not there": ruled("self.b.all(x, true)"),
    "a dear rule": ruled("self.a.all(x, self.a.exists_one(y, x == y))"),
    "deep within": mapping(a={"type": "array", "items": mapping(b={})}),
}


@pytest.mark.parametrize("schema", BAD.values(), ids=BAD)
def test_it_is_found(schema: dict[str, Any]) -> None:
    assert [*complaints(schema)]


def test_what_is_right_is_left_alone() -> None:
    bounded = {**TEXTS, "maxItems": 5}
    rule = {"rule": "self.a.all(x, self.a.exists(y, x == y))", "message": "m", "fieldPath": ".a"}
    schema = {
        **mapping(a=bounded, b={"x-kubernetes-preserve-unknown-fields": True}),
        "required": ["a"],
        "x-kubernetes-validations": [rule],
    }

    assert [*complaints(schema)] == []
