"""Certificates of a gateway in tests, and the files that it reads them from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@cache
def ec_key(which: str = "") -> Key:  # noqa: ARG001 - one for each word
    """Return a key on a curve."""
    return ec.generate_private_key(ec.SECP256R1())


@cache
def rsa_key(bits: int = 2048) -> Key:
    """Return an RSA key."""
    return rsa.generate_private_key(65537, bits)


def certificate(
    name: str, key: Key, signer: tuple[str, Key] | None = None, *, days: int = 30
) -> str:
    """Return a certificate for 127.0.0.1 as PEM; who signs it is itself unless told."""
    by, signing = signer or (name, key)
    now = datetime.now(UTC)  # noqa: TID251 - OpenSSL looks at the clock of the machine
    made = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(by))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(signing, SHA256())
    )
    return made.public_bytes(Encoding.PEM).decode()


def plain(key: Key, phrase: str | None = None) -> str:
    """Return a key as PEM, encrypted where there is a phrase for it."""
    lock = NoEncryption() if phrase is None else BestAvailableEncryption(phrase.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()


def put(folder: Path, chain: str, key: str) -> dict[str, str]:
    """Write a certificate and its key into a folder; return the section `server.tls` for them."""
    names = {"certFile": "tls.crt", "keyFile": "tls.key"}
    (folder / names["certFile"]).write_text(chain)
    (folder / names["keyFile"]).write_text(key)
    return {each: str(folder / name) for each, name in names.items()}


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
