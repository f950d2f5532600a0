"""A JSON object kept as it came: its top-level members in order, each value as raw bytes.

Splitting bytes into a Document belongs to `vmcp.protocol.document`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """The members of an object: `key` is the raw JSON string with its quotes, `value` raw JSON."""

    members: tuple[tuple[bytes, bytes], ...]

    def get(self, key: bytes) -> bytes | None:
        """Return the raw value of `key` (with its quotes: `b'"name"'`), the last one if there are several."""
        for name, value in reversed(self.members):
            if name == key:
                return value
        return None

    def with_member(self, key: bytes, value: bytes) -> Document:
        """Return a copy in which `key` has `value`, in its old place or else at the end."""
        new = (key, value)
        members = tuple([new if member[0] == key else member for member in self.members])
        return Document(members if new in members else (*members, new))

    def without(self, *keys: bytes) -> Document:
        """Return a copy that lacks `keys`."""
        return Document(tuple(member for member in self.members if member[0] not in keys))

    def join(self) -> bytes:
        """Return the object as JSON, without white space between its members."""
        return b"{" + b",".join([name + b":" + value for name, value in self.members]) + b"}"
