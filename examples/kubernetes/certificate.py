"""Make an authority and a certificate for the notes, and print them as objects for kubectl.

    python certificate.py [OLD] | kubectl apply -f -

OLD is a file with the certificates of the authority before: they are trusted beside the new one.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

DAYS = 30
# The Service, and whoever forwards its port.
NAMES = [
    x509.DNSName("notes"),
    x509.DNSName("localhost"),
    x509.IPAddress(ip_address("127.0.0.1")),
]
Key = ec.EllipticCurvePrivateKey


def named(text: str) -> x509.Name:
    """Return the name of who holds a certificate."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def begun(subject: str, issuer: str, key: Key) -> x509.CertificateBuilder:
    """Return what all certificates have."""
    now = datetime.now(UTC)
    public = key.public_key()
    return (
        x509.CertificateBuilder(named(issuer), named(subject), public, x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def authority(key: Key) -> x509.Certificate:
    """Return the certificate of an authority that signs servers alone."""
    signs = x509.KeyUsage(
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
    return (
        begun("office authority", "office authority", key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(signs, critical=True)
        .sign(key, SHA256())
    )


def of_server(key: Key, signer: Key) -> x509.Certificate:
    """Return the certificate of the notes."""
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return (
        begun("notes", "office authority", key)
        .add_extension(x509.SubjectAlternativeName(NAMES), critical=False)
        .add_extension(identifier, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(signer, SHA256())
    )


def pem(made: x509.Certificate) -> str:
    """Return a certificate as text."""
    return made.public_bytes(Encoding.PEM).decode()


def made(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """Return an object."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}


def objects(old: str) -> list[dict[str, Any]]:
    """Return the Secret of the server and the ConfigMap of those who call it."""
    signer, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    own = {"tls.crt": pem(of_server(key, signer)), "tls.key": plain}
    return [
        made("Secret", "notes-tls", type="kubernetes.io/tls", stringData=own),
        made("ConfigMap", "office-ca", data={"ca.crt": pem(authority(signer)) + old}),
    ]


if __name__ == "__main__":
    before = "".join(Path(word).read_text() for word in sys.argv[1:])
    # JSON is YAML.
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects(before)}, indent=2))
