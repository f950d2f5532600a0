"""The API keys that are in force, found by a digest that nobody outside can work towards."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable

from vmcp.model.apikey import ApiKey, digest
from vmcp.model.identity import Caller

ISSUER = "api_key"


class Keyring:
    """Know whose key a text is; equal where the keys are."""

    __slots__ = ("_by_mark", "_salt", "keys")

    def __init__(self, keys: tuple[ApiKey, ...]) -> None:
        self.keys = keys
        # The table is looked up by a digest under a key of this process: how long that takes tells nobody
        # outside how much of a guess is right.
        self._salt = secrets.token_bytes(32)
        self._by_mark = {self._mark(each.digest): each for each in keys}

    def caller(self, key: str) -> Caller | None:
        """Return whose key a text is, None where it is nobody's."""
        if not key:
            return None
        brought = digest(key)
        found = self._by_mark.get(self._mark(brought))
        if found is None or not hmac.compare_digest(found.digest, brought):
            return None
        return Caller(ISSUER, found.name)

    def callers_without(self, kept: Iterable[ApiKey]) -> frozenset[Caller]:
        """Return those of whose keys one is not among those that are kept."""
        gone = set(self.keys).difference(kept)
        return frozenset(Caller(ISSUER, each.name) for each in gone)

    def _mark(self, found: bytes) -> bytes:
        return hmac.digest(self._salt, found, "sha256")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyring) and other.keys == self.keys

    def __hash__(self) -> int:
        return hash(self.keys)

    def __repr__(self) -> str:
        return f"Keyring({len(self.keys)} keys)"
