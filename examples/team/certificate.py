"""Write a certificate that signs itself, and its key, for trying the gateway on this machine."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

FOLDER = Path(__file__).parent
NAMES = [
    x509.DNSName("localhost"),
    x509.DNSName("gateway.team.example"),
    x509.IPAddress(ip_address("127.0.0.1")),
]
DAYS = 30


def main() -> None:
    """Write tls.crt and tls.key beside this file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gateway.team.example")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName(NAMES), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (FOLDER / "tls.crt").write_bytes(made.public_bytes(Encoding.PEM))
    (FOLDER / "tls.key").touch(mode=0o600)
    (FOLDER / "tls.key").write_bytes(plain)
    sys.stdout.write(f"tls.crt and tls.key are good for {DAYS} days.\n")


if __name__ == "__main__":
    main()
