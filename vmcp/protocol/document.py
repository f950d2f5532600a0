"""Split JSON into Documents without touching the bytes of their values."""

from __future__ import annotations

import json
from collections import Counter
from typing import NoReturn

import msgspec

from vmcp.model.document import Document

# What is looked at member by member; with more of them one body would hold up everybody for seconds.
MOST_MEMBERS = 10_000

# What a message without params has. An empty object that was sent is another Document with no members.
EMPTY = Document(())

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])
_string = msgspec.json.Decoder(str)
_keys: dict[str, bytes] = {}


class MalformedJson(ValueError):
    """The bytes are not the JSON that was expected; the text says what was."""


def quote(text: str) -> bytes:
    """Return `text` as a JSON string."""
    try:
        return msgspec.json.encode(text)
    except UnicodeEncodeError:
        return json.dumps(text).encode()


def unquote(raw: bytes) -> str:
    """Return the text of a raw JSON string; raise MalformedJson for anything else."""
    try:
        return _string.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        value = _loads(raw)
        # A number is kept as text there, so the type alone does not tell.
        if not isinstance(value, str) or raw.lstrip(_SPACE)[:1] != b'"':
            raise MalformedJson("a string was expected") from None
        return value


def split(raw: bytes) -> Document:
    """Return the members of a JSON object, duplicates included; raise MalformedJson if it is none."""
    try:
        found = _members.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _split_slowly(raw)
    if len(found) > MOST_MEMBERS:
        raise _too_many()
    members = tuple(
        [(_keys.get(key) or quote_name(key), bytes(value)) for key, value in found.items()]
    )
    if len(raw) == 1 + sum([len(key) + len(value) + 2 for key, value in members]) or raw == b"{}":
        return Document(members)
    # White space, an escaped key or a duplicate: the lengths do not add up.
    return Document(members) if _is_spaced(raw, members) else _split_slowly(raw)


def _too_many() -> MalformedJson:
    return MalformedJson(f"an object has more than {MOST_MEMBERS} members")


def _is_spaced(raw: bytes, members: tuple[tuple[bytes, bytes], ...]) -> bool:
    """Tell whether a well-formed object has just these members in this order, with white space between."""
    at = _past_space(raw, 0) + 1
    for key, value in members:
        at = _past_space(raw, at)
        if not raw.startswith(key, at):
            return False
        at = _past_space(raw, _past_space(raw, at + len(key)) + 1)
        if not raw.startswith(value, at):
            return False
        at = _past_space(raw, at + len(value))
        if raw[at] not in b",}":
            return False
        at += 1
    return raw[at - 1] == ord("}")


def _past_space(raw: bytes, at: int) -> int:
    while raw[at] in _SPACE:
        at += 1
    return at


def split_array(raw: bytes) -> tuple[bytes, ...]:
    """Return the items of a JSON array as raw bytes; raise MalformedJson if it is none."""
    try:
        return tuple([bytes(item) for item in _items.decode(raw)])
    except (msgspec.DecodeError, RecursionError):
        return _split_array_slowly(raw)


def duplicates(document: Document) -> frozenset[bytes]:
    """Return the keys that occur more than once."""
    keys = [key for key, _ in document.members]
    if len(set(keys)) == len(keys):
        return _NONE
    return frozenset(key for key, times in Counter(keys).items() if times > 1)


def is_object(raw: bytes) -> bool:
    """Tell whether raw JSON that is known to be well-formed is an object."""
    return raw.lstrip(_SPACE)[:1] == b"{"


def quote_name(key: str) -> bytes:
    """Return a key or a method's name as a JSON string; those that repeat are remembered."""
    known = _keys.get(key)
    if known is None:
        known = quote(key)
        if len(_keys) < _MOST_KEYS and len(key) <= _LONGEST_KEY:
            _keys[key] = known
    return known


# Keys of tools and envelopes repeat in every message; keys that clients invent must not fill the memory.
_MOST_KEYS = 1024
_LONGEST_KEY = 128
_SPACE = b" \t\r\n"
_NONE: frozenset[bytes] = frozenset()


def _refuse(_: str) -> NoReturn:
    raise MalformedJson("NaN and Infinity are not JSON")


def _text(raw: str) -> str:
    return raw


# The standard library's scanner finds where a value ends, at C speed, in JSON that msgspec refuses or cannot
# split: lone surrogates, duplicate keys. Numbers are kept as text, so that none is too long to parse.
_scan = json.JSONDecoder(parse_constant=_refuse, parse_int=_text, parse_float=_text).raw_decode


def _loads(raw: bytes) -> object:
    text = _decoded(raw)
    value, end = _scanned(text, _skip(text, 0))
    if _skip(text, end) != len(text):
        raise MalformedJson("text follows the value")
    return value


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise MalformedJson("the text is not UTF-8") from None


def _scanned(text: str, at: int) -> tuple[object, int]:
    try:
        return _scan(text, at)
    except RecursionError:
        raise MalformedJson("nested too deeply") from None
    except ValueError:
        raise MalformedJson(f"malformed at character {at}") from None


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _expect(text: str, at: int, allowed: str) -> str:
    if at >= len(text) or text[at] not in allowed:
        raise MalformedJson(f"one of {allowed!r} was expected at character {at}")
    return text[at]


def _split_slowly(raw: bytes) -> Document:
    text = _decoded(raw)
    at = _skip(text, 0)
    _expect(text, at, "{")
    at = _skip(text, at + 1)
    members: list[tuple[bytes, bytes]] = []
    written: list[bytes] = []
    closed = text[at : at + 1] == "}"
    while not closed:
        if len(members) >= MOST_MEMBERS:
            raise _too_many()
        _expect(text, at, '"')
        key, end = _scanned(text, at)
        written.append(text[at:end].encode())
        at = _skip(text, end)
        _expect(text, at, ":")
        start = _skip(text, at + 1)
        _, end = _scanned(text, start)
        members.append((quote_name(str(key)), text[start:end].encode()))
        at = _skip(text, end)
        closed = _expect(text, at, ",}") == "}"
        at = at if closed else _skip(text, at + 1)
    if _skip(text, at + 1) != len(text):
        raise MalformedJson("text follows the object")
    is_plain = all(name == key for name, (key, _) in zip(written, members, strict=True))
    return Document(tuple(members), None if is_plain else tuple(written))


def _split_array_slowly(raw: bytes) -> tuple[bytes, ...]:
    text = _decoded(raw)
    at = _skip(text, 0)
    _expect(text, at, "[")
    at = _skip(text, at + 1)
    items: list[bytes] = []
    closed = text[at : at + 1] == "]"
    while not closed:
        _, end = _scanned(text, at)
        items.append(text[at:end].encode())
        at = _skip(text, end)
        closed = _expect(text, at, ",]") == "]"
        at = at if closed else _skip(text, at + 1)
    if _skip(text, at + 1) != len(text):
        raise MalformedJson("text follows the array")
    return tuple(items)
