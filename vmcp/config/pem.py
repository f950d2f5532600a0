"""CA bundles: every certificate of a PEM text is read, and the text is written anew."""

from __future__ import annotations

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

_BEGIN = "-----BEGIN CERTIFICATE-----"


class BundleInvalid(Exception):
    """A text is no CA bundle; the wording names what is wrong and not where the text came from."""


def normalised(text: str) -> str:
    """Return the certificates as PEM and nothing else, so that equal bundles are equal texts."""
    announced = text.count(_BEGIN)
    if announced == 0:
        raise BundleInvalid("holds no PEM certificate")
    if "PRIVATE KEY-----" in text:
        raise BundleInvalid("holds a private key, which does not belong there")
    try:
        certificates = x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        raise BundleInvalid("holds a certificate that cannot be read") from None
    if len(certificates) != announced:
        raise BundleInvalid("holds a certificate that cannot be read")
    return "".join(one.public_bytes(Encoding.PEM).decode("ascii") for one in certificates)
