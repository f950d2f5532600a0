"""Close what we hand out and must get back untouched: AEAD over a backend's `requestState`."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vmcp.clock import Clock
from vmcp.model.secret import Secret
from vmcp.protocol.document import quote
from vmcp.protocol.failures import StateExpired

_PREFIX = "vmcp1."
_NONCE = 12
_EXPIRY = 8
_LIFE_SECONDS = 600


class Seal:
    """Seal states for a caller, a backend and a request; a key of our own lives as long as the process."""

    def __init__(self, clock: Clock, key: Secret | None = None) -> None:
        secret = key.reveal().encode() if key is not None else os.urandom(32)
        self._aead = AESGCM(hashlib.sha256(b"vmcp request state\0" + secret).digest())
        self._clock = clock

    def close(self, state: bytes, binding: bytes) -> bytes:
        """Return `state` (raw JSON) sealed for `binding`, as a raw JSON string."""
        expiry = int(self._clock.now().timestamp()) + _LIFE_SECONDS
        head = expiry.to_bytes(_EXPIRY, "big")
        nonce = os.urandom(_NONCE)
        sealed = self._aead.encrypt(nonce, state, head + binding)
        return quote(_PREFIX + base64.urlsafe_b64encode(head + nonce + sealed).decode())

    def open(self, sealed: str, binding: bytes) -> bytes:
        """Return the state that was sealed for `binding`; raise StateExpired where it was not, or is too old."""
        try:
            raw = base64.b64decode(sealed.removeprefix(_PREFIX), altchars=b"-_", validate=True)
            head, nonce = raw[:_EXPIRY], raw[_EXPIRY : _EXPIRY + _NONCE]
            state = self._aead.decrypt(nonce, raw[_EXPIRY + _NONCE :], head + binding)
        except (binascii.Error, InvalidTag, ValueError):
            raise StateExpired("The requestState belongs to no request of this caller.") from None
        if int.from_bytes(head, "big") < self._clock.now().timestamp():
            raise StateExpired("The requestState has expired; start the request anew.")
        return state


def binding(*parts: bytes) -> bytes:
    """Return a digest that only the same parts in the same order have."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.digest()
