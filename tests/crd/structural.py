"""What an API server asks of a schema before it takes it, as far as a schema alone can tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_OPEN = "x-kubernetes-preserve-unknown-fields"
_RULES = "x-kubernetes-validations"
_LIST, _KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_OF_TYPE: Mapping[str, set[str]] = {
    "object": {"properties", "required", "additionalProperties", "maxProperties", _RULES},
    "array": {"items", "minItems", "maxItems", _LIST, _KEYS},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "integer": {"minimum", "maximum"},
    "boolean": set(),
}
_ALWAYS = {"type", "description", "default", "enum", _OPEN}
_SCALARS = {"string", "integer", "boolean"}
_PYTHON = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
# Macros that look at every entry, with the expression that they go through.
_MACRO = re.compile(r"([a-zA-Z.]+)\.(?:all|exists|exists_one|filter|map)\(")


def complaints(schema: Schema, path: str = "") -> Iterator[str]:
    """Yield what is wrong with a schema, each with its place."""
    if "type" not in schema and schema.get(_OPEN) is not True:
        yield f"{path}: has no type and is not open"
    odd = schema.keys() - _ALWAYS - _OF_TYPE.get(schema.get("type", ""), set())
    if odd:
        yield f"{path}: has {sorted(odd)}"
    checks = (_object, _list, _text, _rules)
    yield from (f"{path}: {words}" for check in checks for words in check(schema))
    if "default" in schema:
        yield from (f"{path}: default {words}" for words in faults(schema, schema["default"]))
    for name, inner in children(schema):
        yield from complaints(inner, f"{path}.{name}")


def children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the schemas within a schema by their names; `*` stands for entries and other members."""
    yield from schema.get("properties", {}).items()
    for key in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(key), Mapping):
            yield "*", inner


def faults(schema: Schema, value: object) -> Iterator[str]:
    """Yield why a value is not what a schema asks for."""
    kind = schema.get("type")
    if kind is not None and type(value) is not _PYTHON[kind]:
        yield f"{value!r} is no {kind}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{value!r} is none of {schema['enum']}"
    if isinstance(value, str):
        if "pattern" in schema and re.search(schema["pattern"], value) is None:
            yield f"{value!r} does not match {schema['pattern']}"
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{value!r} has the wrong length"
    elif isinstance(value, int) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            yield f"{value} is out of range"
    elif isinstance(value, dict | list) and value:
        yield "is a filled object or list, which this check does not know"


def _object(schema: Schema) -> Iterator[str]:
    if "properties" in schema and "additionalProperties" in schema:
        yield "has both properties and additionalProperties"
    missing = set(schema.get("required", ())) - schema.get("properties", {}).keys()
    if missing:
        yield f"requires {sorted(missing)}, which it does not have"


def _list(schema: Schema) -> Iterator[str]:
    if schema.get("type") != "array":
        return
    entry = schema.get("items")
    if not isinstance(entry, Mapping):
        yield "is a list of nothing"
    elif schema.get(_LIST) == "set" and entry.get("type") not in _SCALARS:
        yield "is a set of what has parts"
    elif schema.get(_LIST) == "map":
        fields = entry.get("properties", {})
        for key in schema.get(_KEYS, ()):
            if fields.get(key, {}).get("type") not in _SCALARS:
                yield f"has the key {key}, which is no plain field of its entries"
            elif key not in entry.get("required", ()) and "default" not in fields[key]:
                yield f"has the key {key}, which may be absent"


def _text(schema: Schema) -> Iterator[str]:
    pattern = schema.get("pattern")
    if pattern is not None and re.search(r"\(\?(?!:)|\\[1-9]", pattern):
        yield f"has a pattern that RE2 does not take: {pattern}"
    if any(type(value) is not _PYTHON[schema.get("type", "")] for value in schema.get("enum", ())):
        yield "has an enum of another type"


def _rules(schema: Schema) -> Iterator[str]:
    for rule in schema.get(_RULES, ()):
        if not rule["message"] or "\n" in rule["message"]:
            yield "has a rule without a message of one line"
        if "fieldPath" in rule and _at(schema, rule["fieldPath"]) is None:
            yield f"tells a rule of {rule['fieldPath']}, which it does not have"
        yield from _cost(schema, rule["rule"])


def _cost(schema: Schema, rule: str) -> Iterator[str]:
    """Yield what may make a rule dear: going through a list within another without a bound."""
    through = _MACRO.findall(rule)
    for path in through:
        found = _at(schema, path.removeprefix("self"))
        if found is None:
            yield f"has a rule that goes through {path}, which it does not have"
        elif len(through) > 1 and not {"maxItems", "maxProperties"} & found.keys():
            yield f"has a rule that goes through {path} within another, without a bound"


def _at(schema: Schema, path: str) -> Schema | None:
    found: Schema | None = schema
    for name in path.strip(".").split("."):
        found = None if found is None else found.get("properties", {}).get(name)
    return found
