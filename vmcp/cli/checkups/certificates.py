"""A certificate in words: for whom it is, who signed it, and how long it is good."""

from __future__ import annotations

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.x509.oid import NameOID

_SOON = timedelta(days=14)


def ends_soon(certificate: x509.Certificate, now: datetime) -> bool:
    """Tell whether it is time to renew a certificate."""
    return certificate.not_valid_after_utc - now < _SOON


def described(certificate: x509.Certificate) -> str:
    """Return whom a certificate names, its issuer and its last day."""
    ends = certificate.not_valid_after_utc
    names = f" for {', '.join(found)}" if (found := _names(certificate)) else ""
    return f"Certificate{names}, issued by {_issuer(certificate)}, valid until {ends:%Y-%m-%d}."


def _issuer(certificate: x509.Certificate) -> str:
    for kind in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME):
        if found := certificate.issuer.get_attributes_for_oid(kind):
            return str(found[0].value)
    return "an issuer without a name"


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return ()
    hosts = found.get_values_for_type(x509.DNSName)
    return (*hosts, *(str(each) for each in found.get_values_for_type(x509.IPAddress)))
