"""A JSON object kept as it came: its top-level members in order, each value as raw bytes.

Splitting bytes into a Document belongs to `vmcp.protocol.document`.
"""

from __future__ import annotations

from typing import NamedTuple


class Document(NamedTuple):
    """The members of an object: `key` is the raw JSON string with its quotes, `value` raw JSON.

    Keys stand in `members` without needless escapes, so that each is found by one spelling. Where any was
    written otherwise, `written` has all of them as they came, in the same order.
    """

    members: tuple[tuple[bytes, bytes], ...]
    written: tuple[bytes, ...] | None = None

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
        if new in members:
            return Document(members, self.written)
        return Document((*members, new), None if self.written is None else (*self.written, key))

    def without(self, *keys: bytes) -> Document:
        """Return a copy that lacks `keys`."""
        kept = [at for at, member in enumerate(self.members) if member[0] not in keys]
        written = self.written
        return Document(
            tuple([self.members[at] for at in kept]),
            None if written is None else tuple([written[at] for at in kept]),
        )

    def join(self) -> bytes:
        """Return the object as JSON, without white space between its members."""
        if self.written is not None:
            values = [value for _, value in self.members]
            pairs = zip(self.written, values, strict=True)
            return b"{" + b",".join([name + b":" + value for name, value in pairs]) + b"}"
        return b"{" + b",".join([name + b":" + value for name, value in self.members]) + b"}"
