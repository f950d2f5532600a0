"""The certificate and the key of our own listener: what is wrong with them, in words that name the remedy."""

from __future__ import annotations

import ssl
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

_BEGIN = "-----BEGIN CERTIFICATE-----"


class PairInvalid(Exception):
    """A file is no certificate or no key to serve with; the wording is the rest of a sentence about the file."""


def check_chain(text: str, now: datetime) -> None:
    """Raise PairInvalid where a text is no chain of certificates to serve with now."""
    own = _chain(text)[0]
    if own.not_valid_after_utc < now:
        when = f"{own.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
        raise PairInvalid(f"holds a certificate that expired on {when}: renew it")


def check_key(text: str, chain: str | None) -> None:
    """Raise PairInvalid where a text is no plain private key, or not the one of the first certificate."""
    try:
        key = load_pem_private_key(text.encode(), None)
    except TypeError:
        raise PairInvalid(
            "holds an encrypted key: write it without a passphrase, as 'openssl pkey -in KEY -out PLAIN' does"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise PairInvalid("holds no PEM private key that can be read") from None
    if chain is None:
        return
    wanted = _raw(key.public_key())
    matching = [_raw(each.public_key()) == wanted for each in _chain(chain)]
    if not any(matching):
        raise PairInvalid("holds a key that does not belong to the certificate in certFile")
    if not matching[0]:
        raise PairInvalid(
            "belongs to a certificate that is not the first one in certFile: "
            "put the server's own first, then those that signed it"
        )


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS of a server that shows a certificate; raise OSError where OpenSSL does not take it."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    # Without a password OpenSSL would ask for one on the terminal.
    made.load_cert_chain(certificate, key, password="")
    return made


def _chain(text: str) -> list[x509.Certificate]:
    announced = text.count(_BEGIN)
    try:
        found = x509.load_pem_x509_certificates(text.encode()) if announced else []
    except ValueError:
        found = []
    if not found or len(found) != announced:
        what = "a certificate that cannot be read" if announced else "no PEM certificate"
        raise PairInvalid(f"holds {what}")
    return found


def _raw(key: object) -> bytes:
    found: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]
    return found
