"""Unpack bodies that a server packs although nobody asked for it: gzip and deflate, piece by piece."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from vmcp.net.errors import BodyTooLarge, NetError

# What one step unpacks at most: a few bytes may stand for many.
_PIECE = 256 * 2**10
_ZIPPED = frozenset({"gzip", "x-gzip", "deflate"})
# Other names are no codings: some servers write a charset there.
_UNREADABLE = frozenset({"br", "zstd", "compress", "x-compress"})
_GZIP_OR_ZLIB, _BARE = 47, -15


def unpacker(coding: str) -> Unpacker | None:
    """Return what unpacks a Content-Encoding, None where nothing is packed; raise NetError."""
    name = coding.lower()
    if name in _UNREADABLE:
        raise _broken(f"is packed as {name}, which nobody asked for")
    return Unpacker(name) if name in _ZIPPED else None


class Unpacker:
    """One packed body."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._unzip = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._has_begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what more bytes unpack to in pieces that are small; raise NetError."""
        if data and not self._has_begun:
            self._begin(data[0])
        try:
            # A step that is full may have left some of its output inside.
            is_full = False
            while data or is_full:
                piece = self._unzip.decompress(data, _PIECE)
                is_full = len(piece) == _PIECE
                data = self._unzip.unconsumed_tail
                if piece:
                    yield piece
        except zlib.error:
            raise _broken("is packed in another way than it says") from None
        if self._unzip.unused_data:
            raise _broken("goes on after the end of what is packed")

    def _begin(self, first: int) -> None:
        self._has_begun = True
        # Some servers leave out the two bytes with which `deflate` begins (RFC 9110, 8.4.1.2).
        if self._name == "deflate" and first & 15 not in (8, 15):
            self._unzip = zlib.decompressobj(_BARE)

    def end(self) -> None:
        """Take the end of the body; raise NetError where there should be more."""
        if self._has_begun and not self._unzip.eof:
            raise _broken("ends before the end of what is packed")


def unpacked(unpack: Unpacker, chunks: Iterable[bytes], limit: int) -> bytes:
    """Return what a whole body unpacks to; raise BodyTooLarge past `limit` bytes, and NetError."""
    pieces: list[bytes] = []
    size = 0
    for chunk in chunks:
        for piece in unpack.feed(chunk):
            size += len(piece)
            if size > limit:
                raise BodyTooLarge(limit)
            pieces.append(piece)
    unpack.end()
    return b"".join(pieces)


def _broken(what: str) -> NetError:
    return NetError("read", f"the body {what}", sent=True)
