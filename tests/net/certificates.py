"""Authorities of tests, and servers that have certificates of theirs."""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from vmcp.model.backend import ClientCert
from vmcp.model.secret import Secret

Key: TypeAlias = ec.EllipticCurvePrivateKey
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """A certificate and its key, and whoever signed it."""

    certificate: x509.Certificate
    key: Key
    chain: tuple[x509.Certificate, ...] = ()

    @property
    def sent(self) -> tuple[x509.Certificate, ...]:
        """What is sent beside a certificate that this one has signed: all but a root."""
        is_root = self.certificate.issuer == self.certificate.subject
        return () if is_root else (self.certificate, *self.chain)

    @property
    def pem(self) -> str:
        """The certificate as PEM."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        """The key as PEM."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    @property
    def shown(self) -> ClientCert:
        """What a client shows to servers that ask who it is."""
        chain = "".join(
            one.public_bytes(Encoding.PEM).decode() for one in (self.certificate, *self.chain)
        )
        return ClientCert(chain, Secret(self.key_pem))

    def server(self, clients: str | None = None) -> ssl.SSLContext:
        """Return what a server with this identity speaks TLS with; it may want `clients` to be signed."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if clients is not None:
            made.verify_mode = ssl.CERT_REQUIRED
            made.load_verify_locations(cadata=clients)
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            Path(file.name).write_bytes(
                self.key_pem.encode()
                + b"".join(
                    one.public_bytes(Encoding.PEM) for one in (self.certificate, *self.chain)
                )
            )
            made.load_cert_chain(file.name)
        return made


@cache
def authority(name: str = "root", signer: Identity | None = None, *, old: bool = False) -> Identity:
    """Return an authority; an old one lacks what newer ones have."""
    key = ec.generate_private_key(ec.SECP256R1())
    draft = _draft(name, key, signer)
    draft = draft.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=not old)
    if not old:
        draft = draft.add_extension(_usage(), critical=True).add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
    return _signed(draft, key, signer, is_old=old)


@cache
def identity(
    *names: str, signer: Identity | None = None, days: int = 30, old: bool = False
) -> Identity:
    """Return the identity of a server; who signs it is itself unless told."""
    key = ec.generate_private_key(ec.SECP256R1())
    draft = _draft(names[0], key, signer, days)
    draft = draft.add_extension(
        x509.SubjectAlternativeName([_general(name) for name in names]), critical=False
    )
    return _signed(draft, key, signer, is_old=old)


def _draft(name: str, key: Key, signer: Identity | None, days: int = 30) -> x509.CertificateBuilder:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)  # noqa: TID251 - OpenSSL looks at the clock of the machine
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.certificate.subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 60 * _DAY)
        .not_valid_after(now + days * _DAY)
    )


def _signed(
    draft: x509.CertificateBuilder, key: Key, signer: Identity | None, *, is_old: bool
) -> Identity:
    signing = signer.key if signer else key
    if not is_old:
        draft = draft.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False
        )
    made = draft.sign(signing, SHA256())
    return Identity(made, key, () if signer is None else signer.sent)


def _usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
