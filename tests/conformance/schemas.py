"""The JSON Schemas of the fixture's tools and forms, as the conformance suite wants them."""

from __future__ import annotations

from typing import Any


def strings(*names: str) -> dict[str, Any]:
    """Return the schema of an object with these required strings."""
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names)}


NAME_FORM: dict[str, Any] = {"name": {"type": "string"}}

SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

HEADER_TOOL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "limit": {"type": "integer", "x-mcp-header": "Limit"},
        "dryRun": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "note": {"type": "string"},
    },
}

SLOW_COMPUTE: dict[str, Any] = {
    "type": "object",
    "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}},
}

DEFAULTS_FORM: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {
        "type": "string",
        "enum": ["active", "inactive", "pending"],
        "default": "active",
    },
    "verified": {"type": "boolean", "default": True},
}


def _titled(*titles: str) -> list[dict[str, str]]:
    return [{"const": f"value{n}", "title": title} for n, title in enumerate(titles, start=1)]


_OPTIONS = ["option1", "option2", "option3"]

ENUMS_FORM: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": _OPTIONS},
    "titledSingle": {
        "type": "string",
        "oneOf": _titled("First Option", "Second Option", "Third Option"),
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": _titled("First Choice", "Second Choice", "Third Choice")},
    },
}
