"""A key by which a client of ours is known: its name and what the key is recognised by, never the key itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class ApiKey:
    """Whose key it is, and its SHA-256: keys are long and random, so that a fast hash hides them."""

    name: str
    digest: bytes = field(repr=False)


def digest(key: str) -> bytes:
    """Return what a key is recognised by."""
    return sha256(key.encode("utf-8", "surrogateescape")).digest()
