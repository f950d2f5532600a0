"""The `x-mcp-header` annotations of an inputSchema (2026-07-28): which there are, and whether they are valid."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from vmcp.model.document import Document
from vmcp.protocol.document import is_object, split, split_array, unquote

# For each annotation the header's token, the path of property names to the argument, and its JSON type.
ParamHeaders = tuple[tuple[str, tuple[str, ...], str], ...]
_Path = tuple[str, ...] | None

_MARK = b'"x-mcp-header"'
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TYPES = (b'"string"', b'"integer"', b'"boolean"')

# Where schemas stand within a schema (JSON Schema 2020-12, and `definitions` of before); what stands
# elsewhere, such as a default, is data.
_SINGLE = frozenset(
    (
        b'"additionalProperties"',
        b'"contains"',
        b'"contentSchema"',
        b'"else"',
        b'"if"',
        b'"items"',
        b'"not"',
        b'"propertyNames"',
        b'"then"',
        b'"unevaluatedItems"',
        b'"unevaluatedProperties"',
    )
)
_LISTED = frozenset((b'"allOf"', b'"anyOf"', b'"oneOf"', b'"prefixItems"'))
_NAMED = frozenset((b'"$defs"', b'"definitions"', b'"dependentSchemas"', b'"patternProperties"'))


def param_headers(schema: bytes | None) -> ParamHeaders:
    """Return the annotations of an inputSchema; raise ValueError where one is invalid."""
    if schema is None or _MARK not in schema:
        return ()
    found: dict[str, tuple[str, tuple[str, ...], str]] = {}
    for path, position in _positions(schema):
        mark = position.get(_MARK)
        if mark is None:
            continue
        if not path:
            raise ValueError("x-mcp-header stands where only 'properties' of objects may carry it")
        token = _token(mark)
        if token.lower() in found:
            raise ValueError("two properties have the same x-mcp-header")
        found[token.lower()] = (token, path, _kind(position))
    return tuple(found.values())


def _positions(schema: bytes) -> Iterator[tuple[_Path, Document]]:
    """Yield the schemas within a schema that may be annotated.

    The path is None where others than `properties` lead there.
    """
    waiting: deque[tuple[_Path, bytes]] = deque((((), schema),))
    while waiting:
        path, raw = waiting.popleft()
        if is_object(raw) and _MARK in raw:
            position = split(raw)
            yield path, position
            for key, value in position.members:
                waiting.extend(_inner(path, key, value))


def _inner(path: _Path, key: bytes, value: bytes) -> Iterator[tuple[_Path, bytes]]:
    if key == b'"properties"' and is_object(value):
        for name, raw in split(value).members:
            yield None if path is None else (*path, unquote(name)), raw
    elif key in _SINGLE:
        yield None, value
    elif key in _LISTED and value[:1] == b"[":
        yield from ((None, raw) for raw in split_array(value))
    elif key in _NAMED and is_object(value):
        yield from ((None, raw) for _, raw in split(value).members)


def _token(mark: bytes) -> str:
    token = unquote(mark) if mark[:1] == b'"' else ""
    if not _TOKEN.fullmatch(token):
        raise ValueError("x-mcp-header must be a header token")
    return token


def _kind(schema: Document) -> str:
    kind = schema.get(b'"type"')
    if kind not in _TYPES:
        raise ValueError("x-mcp-header needs a property of type string, integer or boolean")
    return unquote(kind)
