"""Certificates and keys of a cluster that lives as long as one run of the tests, and tokens signed with them."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

ISSUER = "https://kubernetes.default.svc"
_DAYS = 2
_CA = "vmcp-test-ca"


@dataclass(frozen=True)
class Account:
    """A service account as its tokens name it."""

    namespace: str
    name: str
    uid: str


class Pki:
    """Write the files of a cluster into a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._ca_key = ec.generate_private_key(ec.SECP256R1())
        self._account_key = rsa.generate_private_key(65537, 2048)
        self._write("ca.crt", self._signed(_CA, None, self._ca_key).public_bytes(Encoding.PEM))
        self._issue("apiserver", "kube-apiserver", None)
        self._issue("admin", "admin", "system:masters")
        self._write("sa.key", _private(self._account_key))
        public = self._account_key.public_key()
        pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        self._write("sa.pub", pem)

    @cached_property
    def ca(self) -> Path:
        return self.folder / "ca.crt"

    def path(self, name: str) -> Path:
        return self.folder / name

    def token(self, account: Account, *, seconds: float) -> str:
        """Sign a token that expires in so many seconds; the server forgives 60 more."""
        now = datetime.now(UTC).timestamp()  # noqa: TID251 - the server looks at the machine's
        claims = {
            "iss": ISSUER,
            "aud": [ISSUER],
            "iat": int(now) - 600,
            "exp": int(now + seconds),
            "sub": f"system:serviceaccount:{account.namespace}:{account.name}",
            "kubernetes.io": {
                "namespace": account.namespace,
                "serviceaccount": {"name": account.name, "uid": account.uid},
            },
        }
        body = f"{_part({'alg': 'RS256'})}.{_part(claims)}"
        signed = self._account_key.sign(body.encode(), padding.PKCS1v15(), SHA256())
        return f"{body}.{_base64(signed)}"

    def _issue(self, file: str, name: str, group: str | None) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(name, group, key)
        self._write(f"{file}.crt", certificate.public_bytes(Encoding.PEM))
        self._write(f"{file}.key", _private(key))

    def _signed(
        self, name: str, group: str | None, key: ec.EllipticCurvePrivateKey
    ) -> x509.Certificate:
        now = datetime.now(UTC)  # noqa: TID251 - as above
        places = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]
        return (
            x509.CertificateBuilder()
            .subject_name(_named(name, group))
            .issuer_name(_named(_CA, None))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=_DAYS))
            .add_extension(x509.SubjectAlternativeName(places), critical=False)
            .add_extension(x509.BasicConstraints(ca=name == _CA, path_length=None), critical=True)
            .sign(self._ca_key, SHA256())
        )

    def _write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)


def _private(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _named(name: str, group: str | None) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _part(value: object) -> str:
    return _base64(json.dumps(value).encode())


def _base64(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()
