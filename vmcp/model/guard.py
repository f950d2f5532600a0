"""Which addresses may be dialled for a URL that somebody else than the one who runs the gateway has written."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from vmcp.model.address import address

# Where clouds tell a machine its credentials; those of 169.254.0.0/16 are link-local anyhow.
_METADATA = frozenset(
    ip_address(text)
    for text in ("100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254")
)
# IPv6 addresses that lead to the IPv4 one in their last 32 bits: by translation (RFC 6052), or of old.
_WRAPPING = (ip_network("64:ff9b::/96"), ip_network("::/96"))
_LOCAL_NAMES = ("localhost", ".localhost")


@dataclass(frozen=True, slots=True)
class Guard:
    """What is refused: loopback and private addresses unless allowed; link-local and metadata ones always."""

    allow_private: bool
    allow_loopback: bool

    def refusal(self, text: str) -> str | None:
        """Return what kind of address a text is, if it may not be dialled; None for others and for names."""
        found = address(text.partition("%")[0])
        return None if found is None else self._refusal(_unwrapped(found))

    def refusal_of_host(self, host: str) -> str | None:
        """Return the same of a host in a URL, where names of this machine itself count as its address."""
        if host.lower().rstrip(".").endswith(_LOCAL_NAMES):
            return None if self.allow_loopback else "a loopback address"
        return self.refusal(host)

    def _refusal(self, found: IPv4Address | IPv6Address) -> str | None:
        if found in _METADATA:
            return "an address of cloud metadata"
        if found.is_link_local:
            return "a link-local address, as that of cloud metadata is"
        if found.is_multicast:
            return "a multicast address"
        if found.is_loopback or found.is_unspecified:
            # The unspecified address connects to this very machine.
            return None if self.allow_loopback else "a loopback address"
        if not found.is_global and not self.allow_private:
            return "a private address"
        return None


def _unwrapped(found: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address to which an IPv6 one leads, any other as it is."""
    if isinstance(found, IPv4Address) or found.is_loopback or found.is_unspecified:
        return found
    if found.sixtofour is not None:
        return found.sixtofour
    if any(found in network for network in _WRAPPING):
        return IPv4Address(int(found) & 0xFFFFFFFF)
    return found
