"""All fields of all kinds, a line for each mapping: `python -m tests.crd.fields > tests/crd/fields.txt`.

`name!` is required; `=x` a default; `{a|b}` an enum; `<...>` bounds and marks; `[]` a list, `{}` a map.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tests.crd.structural import Schema, children
from vmcp.crd.kinds import KINDS
from vmcp.crd.schema import structural

_BOUNDS = (
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties"),
    *("pattern", "format"),
)


def table() -> str:
    """Return the table."""
    lines = (line for kind in KINDS for line in _kind(kind.name, kind.spec, kind.status))
    return "".join(f"{line}\n" for line in sorted(lines))


def _kind(name: str, spec: Any, status: Any) -> Iterator[str]:
    yield from _lines(f"{name}.spec", structural(spec))
    yield from _lines(f"{name}.status", structural(status))


def _lines(path: str, schema: Schema) -> Iterator[str]:
    required = schema.get("required", ())
    own = schema.get("properties", {})
    if own:
        told = (f"{name}{'!' * (name in required)}:{_type(field)}" for name, field in own.items())
        yield f"{path}: {', '.join(sorted(told))}"
    for name, inner in children(schema):
        yield from _lines(f"{path}.{name}", inner)


def _type(schema: Schema) -> str:
    words = {"array": "[]", "object": "{}", None: "any"}
    kind = schema.get("type")
    text = words.get(kind, str(kind))
    inner = schema.get("items", schema.get("additionalProperties"))
    if isinstance(inner, Mapping):
        text += _type(inner)
    if "enum" in schema:
        text += "{" + "|".join(schema["enum"]) + "}"
    if "default" in schema:
        text += f"={json.dumps(schema['default'])}"
    return text + _marks(schema)


def _marks(schema: Schema) -> str:
    marks = [f"{key}={schema[key]}" for key in _BOUNDS if key in schema]
    keys = schema.get("x-kubernetes-list-map-keys", ())
    marks += [f"by {'+'.join(keys)}"] if keys else []
    marks += ["set"] if schema.get("x-kubernetes-list-type") == "set" else []
    marks += ["open"] if schema.get("x-kubernetes-preserve-unknown-fields") else []
    rules = len(schema.get("x-kubernetes-validations", ()))
    marks += [f"rules={rules}"] if rules else []
    return f"<{' '.join(marks)}>" if marks else ""


if __name__ == "__main__":
    sys.stdout.write(table())
