"""Structural schemas as the API server wants them, made of the classes that read the objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from vmcp.crd.specs.base import Spec

Schema = dict[str, Any]

_OPEN = "x-kubernetes-preserve-unknown-fields"
_RULES = "x-kubernetes-validations"


def structural(model: type[Spec]) -> Schema:
    """Return the schema of a class: no references, no unions, no nulls."""
    whole = TypeAdapter(model).json_schema()
    return _plain(whole, whole.get("$defs", {}))


def _plain(node: Mapping[str, Any], named: Mapping[str, Any]) -> Schema:
    merged = _merged(node, named)
    schema = {key: value for key, value in merged.items() if key not in ("$defs", "title")}
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if schema.get("default", "") is None:
        del schema["default"]
    if not schema.get(_RULES, True):
        del schema[_RULES]
    if _OPEN in schema:
        schema.pop("additionalProperties", None)
    return {key: _part(key, value, named) for key, value in schema.items()}


def _merged(node: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node with what it refers to, and with the one of its choices that is not null."""
    own = {key: value for key, value in node.items() if key not in ("$ref", "anyOf")}
    inner: Mapping[str, Any] = {}
    if "$ref" in node:
        inner = named[node["$ref"].rpartition("/")[2]]
    elif "anyOf" in node:
        [inner] = [choice for choice in node["anyOf"] if choice != {"type": "null"}]
    return {**_merged(inner, named), **own} if inner else own


def _part(key: str, value: Any, named: Mapping[str, Any]) -> Any:
    match key:
        case "properties":
            return {name: _plain(field, named) for name, field in value.items()}
        case "items" | "additionalProperties":
            return _plain(value, named)
        case _:
            return value
