"""The smallest picture and sound that are whole files: one red pixel, one silent beat."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from base64 import b64encode


def png() -> str:
    """Return a PNG of one red pixel, in base64."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    row = b"\x00\xff\x00\x00"
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(row)), (b"IEND", b""))
    return _text(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks))


def wav() -> str:
    """Return a WAV of eight silent samples, in base64."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 8)
    return _text(file.getvalue())


def _chunk(kind: bytes, body: bytes) -> bytes:
    checksum = zlib.crc32(kind + body)
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", checksum)


def _text(content: bytes) -> str:
    return b64encode(content).decode("ascii")
