"""Which addresses are this machine's own."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

# No address is longer; what claims to be one is not worth remembering.
_LONGEST = 64


def address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address that a text is, an IPv4 one where IPv6 only wraps it; None for anything else."""
    return _address(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=4096)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def is_loopback(host: str) -> bool:
    """Tell whether a listening address is reached from this machine alone."""
    found = address(host)
    return host.lower() == "localhost" if found is None else found.is_loopback
