"""Arguments of a tool from words on the command line: their types come from the tool's inputSchema.

Pure. `name=value` is read by the schema, `name:=value` is JSON whatever the schema says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import cast

Schema = Mapping[str, object]

KNOWN_TYPES = ("integer", "number", "boolean", "array", "object", "null", "string")
# A schema may refer to itself; this deep we take any type.
DEPTH = 8


class BadArgument(ValueError):
    """A word is no argument of the tool; the text says which word, and what would be one."""


def read(words: Sequence[str], schema: Schema) -> dict[str, object]:
    """Return the arguments that `words` give, with the types of the tool's input schema."""
    return dict(_read(word, schema) for word in words)


def require(arguments: Mapping[str, object], schema: Schema) -> None:
    """Raise BadArgument when arguments that the schema requires are missing."""
    required = schema.get("required")
    names = [str(name) for name in required] if isinstance(required, list) else []
    missing = [name for name in names if name not in arguments]
    if missing:
        needs = [f"{name} ({expected(_property(schema, name), schema)})" for name in missing]
        raise BadArgument(f"missing: {', '.join(needs)}")


def summary(schema: Schema) -> str:
    """Return the names of the arguments: first the required ones, then the others with `?`."""
    required = schema.get("required")
    names = [str(name) for name in required] if isinstance(required, list) else []
    others = [f"{name}?" for name in _properties(schema) if name not in names]
    return ", ".join([*names, *others])


def expected(schema: Schema, root: Schema) -> str:
    """Describe what a schema takes: its allowed values, else its types."""
    allowed = schema.get("enum")
    if isinstance(allowed, list):
        return "one of " + ", ".join(_as_word(value) for value in allowed)
    return " or ".join(_types(schema, root, DEPTH)) or "any JSON value"


def _read(word: str, schema: Schema) -> tuple[str, object]:
    name, equals, text = word.partition("=")
    is_json = name.endswith(":")
    name = name.removesuffix(":")
    if not equals or not name:
        raise BadArgument(f"'{word}' is no argument: write name=value, or name:=JSON")
    if is_json:
        return name, _json(name, text)
    known = _properties(schema)
    if known and name not in known:
        raise BadArgument(_unknown(name, tuple(known)))
    return name, _typed(name, text, _property(schema, name), schema)


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known)}."
    return f"the tool has no argument '{name}': {hint} '{name}:=JSON' sends it all the same"


def _typed(name: str, text: str, schema: Schema, root: Schema) -> object:
    allowed = schema.get("enum")
    if isinstance(allowed, list):
        for value in allowed:
            if text == _as_word(value):
                return cast("object", value)
        raise BadArgument(f"'{name}' must be {expected(schema, root)}; got '{text}'")
    types = _types(schema, root, DEPTH)
    for kind in types:
        found, value = _as_type(text, kind)
        if found:
            return value
    if not types:
        found, value = _as_json(text)
        return value if found else text
    raise BadArgument(f"'{name}' must be {' or '.join(types)}; got '{text}'")


def _as_type(text: str, kind: str) -> tuple[bool, object]:
    """Tell whether `text` is of a JSON type, and its value."""
    if kind == "string":
        return True, text
    found, value = _as_json(text)
    matches = {
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
        "null": value is None,
    }
    return found and matches[kind], value


def _types(schema: Schema, root: Schema, depth: int) -> tuple[str, ...]:
    """Return the JSON types that a schema takes, the most particular first; none means any."""
    if depth == 0:
        return ()
    declared = schema.get("type")
    if isinstance(declared, str):
        return (declared,) if declared in KNOWN_TYPES else ()
    if isinstance(declared, list):
        return _ordered({kind for kind in declared if kind in KNOWN_TYPES})
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _types(_resolve(reference, root), root, depth - 1)
    return _combined(schema, root, depth - 1)


def _combined(schema: Schema, root: Schema, depth: int) -> tuple[str, ...]:
    for keyword in ("anyOf", "oneOf"):
        branches = [_types(branch, root, depth) for branch in _schemas(schema.get(keyword))]
        if branches and all(branches):
            return _ordered({kind for branch in branches for kind in branch})
    for branch in _schemas(schema.get("allOf")):
        if found := _types(branch, root, depth):
            return found
    return ()


def _ordered(types: set[str]) -> tuple[str, ...]:
    # A text is a string whatever it says, so where strings are allowed null is a word like others.
    if "string" in types:
        types = types - {"null"}
    return tuple(kind for kind in KNOWN_TYPES if kind in types)


def _resolve(reference: str, root: Schema) -> Schema:
    found: object = root
    if not reference.startswith("#"):
        return {}
    for part in reference.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _properties(schema: Schema) -> Schema:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _property(schema: Schema, name: str) -> Schema:
    found = _properties(schema).get(name)
    return found if isinstance(found, Mapping) else {}


def _schemas(value: object) -> list[Schema]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _json(name: str, text: str) -> object:
    found, value = _as_json(text)
    if not found:
        raise BadArgument(f"'{name}' must be JSON; got '{text}'")
    return value


def _as_json(text: str) -> tuple[bool, object]:
    try:
        return True, json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False, None


def _refuse(word: str) -> object:
    raise ValueError(word)


def _as_word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
