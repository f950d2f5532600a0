"""The file of API keys: a line a key, `name: sha256:HEX` or `name: KEY`; all that is wrong with it at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vmcp.model.apikey import ApiKey, digest

MAX_KEYS = 1000
MAX_KEYS_BYTES = 256 * 1024
MIN_KEY_LENGTH = 32
MAX_KEY_LENGTH = 512

_HASHED = "sha256:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,62}")
_KEY = re.compile(r"[\x21-\x7e]+")
_HEX = re.compile(r"[0-9A-Fa-f]{64}")


class KeysInvalid(Exception):
    """A text is no list of keys; the wording names lines and nothing of what they hold."""


def is_name(text: str) -> bool:
    """Tell whether a key may have a name."""
    return _NAME.fullmatch(text) is not None


def line(name: str, key: str) -> str:
    """Return the line by which a key is known without being told."""
    return f"{name}: {_HASHED}{digest(key).hex()}"


def tells_keys(text: str) -> bool:
    """Tell whether whoever reads the file can use one of its keys."""
    return any(
        not written.partition(":")[2].strip().startswith(_HASHED) for _, written in _lines(text)
    )


def keys(text: str) -> tuple[ApiKey, ...]:
    """Return the keys of a file in their order; raise KeysInvalid with everything that is wrong.

    A name may have several keys, so that one can be exchanged for another without a gap.
    """
    found: list[tuple[int, ApiKey]] = []
    wrong: list[str] = []
    for number, written in _lines(text):
        try:
            found.append((number, _key(written)))
        except KeysInvalid as invalid:
            wrong.append(f"line {number} {invalid}")
    wrong += _repeated(found)
    if len(found) > MAX_KEYS:
        wrong.append(f"it holds more than {MAX_KEYS} keys")
    if not found and not wrong:
        wrong.append("it holds no key, so that nobody could come in")
    if wrong:
        raise KeysInvalid("; ".join(wrong))
    return tuple(key for _, key in found)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, written in enumerate(text.splitlines(), 1):
        if (stripped := written.strip()) and not stripped.startswith("#"):
            yield number, stripped


def _key(written: str) -> ApiKey:
    name, colon, value = (part.strip() for part in written.partition(":"))
    if not colon or not is_name(name):
        raise KeysInvalid("is not 'NAME: sha256:HEX' or 'NAME: KEY'")
    if value.startswith(_HASHED):
        hexadecimal = value.removeprefix(_HASHED).strip()
        if _HEX.fullmatch(hexadecimal) is None:
            raise KeysInvalid("has a hash that is not 64 hexadecimal digits")
        return ApiKey(name, bytes.fromhex(hexadecimal))
    if len(value) < MIN_KEY_LENGTH:
        raise KeysInvalid(f"has a key of less than {MIN_KEY_LENGTH} characters")
    if len(value) > MAX_KEY_LENGTH or _KEY.fullmatch(value) is None:
        raise KeysInvalid(
            f"has a key with white space or other than ASCII, or longer than {MAX_KEY_LENGTH}"
        )
    return ApiKey(name, digest(value))


def _repeated(found: list[tuple[int, ApiKey]]) -> Iterator[str]:
    first: dict[bytes, int] = {}
    for number, key in found:
        if (before := first.setdefault(key.digest, number)) != number:
            yield f"line {number} has the key of line {before}"
