"""Header values that repeat parts of a body (2026-07-28): how they are written, read and compared."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from vmcp.model.document import Document
from vmcp.protocol.document import MalformedJson, quote, split, unquote
from vmcp.protocol.failures import HeaderMismatch

ParamHeaders = tuple[tuple[str, tuple[str, ...], str], ...]

_SENTINEL = re.compile(r"=\?base64\?([A-Za-z0-9+/=_-]*)\?=")
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_SAFE_INTEGER = 2**53 - 1


def encode(text: str) -> str:
    """Return a header value for `text`: itself where that is safe, else base64 between sentinels."""
    if (_PLAIN.fullmatch(text) and not _SENTINEL.fullmatch(text)) or not text:
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def decode(value: str) -> str:
    """Return the text of a header value; raise HeaderMismatch where the encoding is broken."""
    found = _SENTINEL.fullmatch(value) if value.startswith("=?") else None
    if found is None:
        return value
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise HeaderMismatch(
            "A header value between '=?base64?' and '?=' is not base64 of UTF-8."
        ) from None


def param_values(arguments: bytes | None, wanted: ParamHeaders) -> dict[str, str]:
    """Return the `Mcp-Param-*` headers (lower case) that belong to raw arguments; absent and null have none."""
    found: dict[str, str] = {}
    for token, path, kind in wanted:
        raw = _at(arguments, path)
        if raw is not None and raw != b"null":
            found[f"mcp-param-{token.lower()}"] = encode(_text(raw, kind))
    return found


def check_params(headers: Mapping[str, str], arguments: bytes | None, wanted: ParamHeaders) -> None:
    """Compare the `Mcp-Param-*` headers with the arguments; raise HeaderMismatch where they differ."""
    expected = param_values(arguments, wanted)
    for token, _, kind in wanted:
        name = f"mcp-param-{token.lower()}"
        given, due = headers.get(name), expected.get(name)
        if given is None and due is None:
            continue
        if given is None or due is None or not _same(decode(given), decode(due), kind):
            raise HeaderMismatch(
                f"The header Mcp-Param-{token} must repeat the argument that it stands for."
            )


def _same(given: str, due: str, kind: str) -> bool:
    if kind != "integer":
        return given == due
    try:
        return int(given) == int(due)
    except ValueError:
        return False


def _at(raw: bytes | None, path: tuple[str, ...]) -> bytes | None:
    for name in path:
        if raw is None or raw[:1] != b"{":
            return None
        try:
            raw = split(raw).get(quote(name))
        except MalformedJson:
            return None
    return raw


def _text(raw: bytes, kind: str) -> str:
    if kind != "string" or raw[:1] != b'"':
        return raw.decode()
    return unquote(raw)


def param_headers(schema: bytes | None) -> ParamHeaders:
    """Return the `x-mcp-header` annotations of an inputSchema; raise ValueError where one is invalid."""
    if schema is None or b'"x-mcp-header"' not in schema:
        return ()
    found: list[tuple[str, tuple[str, ...], str]] = []
    _collect(split(schema), (), found)
    tokens = [token.lower() for token, _, _ in found]
    if len(set(tokens)) != len(tokens):
        raise ValueError("two properties have the same x-mcp-header")
    if schema.count(b'"x-mcp-header"') > len(found):
        raise ValueError("x-mcp-header stands where only 'properties' of objects may carry it")
    return tuple(found)


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _collect(
    schema: Document, path: tuple[str, ...], found: list[tuple[str, tuple[str, ...], str]]
) -> None:
    properties = schema.get(b'"properties"')
    if properties is None or properties[:1] != b"{":
        return
    for key, raw in split(properties).members:
        if b'"x-mcp-header"' not in raw or raw[:1] != b"{":
            continue
        inner, here = split(raw), (*path, unquote(key))
        if (mark := inner.get(b'"x-mcp-header"')) is not None:
            found.append((_token(mark), here, _kind(inner)))
        _collect(inner, here, found)


def _token(mark: bytes) -> str:
    token = unquote(mark)
    if not _TOKEN.fullmatch(token):
        raise ValueError("x-mcp-header must be a header token")
    return token


def _kind(schema: Document) -> str:
    kind = schema.get(b'"type"') or b'""'
    if kind not in (b'"string"', b'"integer"', b'"boolean"'):
        raise ValueError("x-mcp-header needs a property of type string, integer or boolean")
    return unquote(kind)
