"""Header values that repeat parts of a body (2026-07-28): how they are written, read and compared."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from decimal import Decimal

from vmcp.protocol.annotations import ParamHeaders
from vmcp.protocol.document import MalformedJson, quote, split, unquote
from vmcp.protocol.failures import HeaderMismatch, InvalidParams

_SENTINEL = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
# What JSON may write for a whole number; past two digits of an exponent it is none that anybody means.
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")


def encode(text: str) -> str:
    """Return a header value for `text`: itself where that is safe, else base64 between sentinels.

    Raise InvalidParams for a lone surrogate, which UTF-8 cannot write.
    """
    if (_PLAIN.fullmatch(text) and not _SENTINEL.fullmatch(text)) or not text:
        return text
    try:
        return f"=?base64?{base64.b64encode(text.encode()).decode()}?="
    except UnicodeEncodeError:
        raise InvalidParams("A value that a header repeats has a lone surrogate.") from None


def decode(value: str) -> str:
    """Return the text of a header value; raise HeaderMismatch where the encoding is broken."""
    found = _SENTINEL.fullmatch(value) if value.startswith("=?") else None
    if found is None:
        return value
    try:
        raw = base64.b64decode(found[1], validate=True)
        if base64.b64encode(raw).decode() == found[1]:
            return raw.decode()
    except (binascii.Error, ValueError):
        pass
    raise HeaderMismatch("A header value between '=?base64?' and '?=' is not base64 of UTF-8.")


def param_values(arguments: bytes | None, wanted: ParamHeaders) -> dict[str, str]:
    """Return the `Mcp-Param-*` headers (lower case) that belong to raw arguments; absent and null have none."""
    found: dict[str, str] = {}
    for token, path, kind in wanted:
        text = _text(_at(arguments, path), kind)
        if text is not None:
            found[f"mcp-param-{token.lower()}"] = encode(text)
    return found


def check_params(headers: Mapping[str, str], arguments: bytes | None, wanted: ParamHeaders) -> None:
    """Compare the `Mcp-Param-*` headers with the arguments; raise HeaderMismatch where they differ."""
    for token, path, kind in wanted:
        raw, given = _at(arguments, path), headers.get(f"mcp-param-{token.lower()}")
        due = _text(raw, kind)
        if given is None and due is None:
            continue
        if given is None or due is None or not _same(decode(given), due, raw, kind):
            raise HeaderMismatch(
                f"The header Mcp-Param-{token} must repeat the argument that it stands for."
            )


def _same(given: str, due: str, raw: bytes | None, kind: str) -> bool:
    if given == due:
        return True
    number = _number(raw) if kind == "integer" else None
    return number is not None and bool(_DECIMAL.fullmatch(given)) and Decimal(given) == number


def _number(raw: bytes | None) -> Decimal | None:
    text = "" if raw is None else raw.decode()
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _at(raw: bytes | None, path: tuple[str, ...]) -> bytes | None:
    for name in path:
        if raw is None or raw[:1] != b"{":
            return None
        try:
            raw = split(raw).get(quote(name))
        except MalformedJson:
            return None
    return raw


def _text(raw: bytes | None, kind: str) -> str | None:
    """Return what a header says of an argument; nothing for null, objects and arrays."""
    if raw is None or raw[:1] in (b"n", b"{", b"["):
        return None
    if raw[:1] == b'"':
        return unquote(raw)
    number = _number(raw) if kind == "integer" and b"e" in raw.lower() else None
    return raw.decode() if number is None else f"{number:f}"
