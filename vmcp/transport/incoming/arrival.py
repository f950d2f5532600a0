"""Where a request comes from and what it was sent to; proxies are believed only where the config says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import NamedTuple

from vmcp.config.serving import EVERY_ADDRESS
from vmcp.model.address import address
from vmcp.transport.incoming.asgi import Scope

_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)+/?")
_WITH_PORT = re.compile(r"\[(?P<six>[^\]]+)\](?::\d+)?|(?P<four>[0-9.]+):\d+")
_SCHEMES = ("http", "https")
# One parameter of a Forwarded header, or the comma that ends an element (RFC 7239, 4).
_PARAMETER = re.compile(
    r'\s*+(?:(?P<name>[\w-]++)=(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<plain>[^;,"\s]*+))|(?P<end>,)|;)\s*+'
)
_ESCAPED = re.compile(r"\\(.)")
_MOST_HOPS = 64


@dataclass(frozen=True, slots=True)
class Arrival:
    """The client's address (empty where it came by no network), and the scheme and the host that it called.

    `prefix` is what a proxy cut off the path.
    """

    address: str
    scheme: str
    host: str
    prefix: str = ""


NOWHERE = Arrival("", "http", "")


class _Hop(NamedTuple):
    """What one proxy tells of whoever called it."""

    client: str
    scheme: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies that are believed: those in the networks, or all."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    all: bool = False

    def arrival(self, scope: Scope, headers: Mapping[str, str]) -> Arrival:
        """Return where a request comes from."""
        peer = _peer(scope)
        if not self.believes(peer):
            return Arrival(peer, scope.get("scheme", "http"), headers.get("host", ""))
        hop = self._client(peer, list(_hops(headers)))
        return Arrival(
            hop.client,
            hop.scheme if hop.scheme in _SCHEMES else scope.get("scheme", "http"),
            hop.host if _HOST.fullmatch(hop.host) else headers.get("host", ""),
            _prefix(headers),
        )

    def believes(self, text: str) -> bool:
        """Tell whether what an address says of others is believed."""
        if self.all or not self.networks:
            return self.all
        found = address(text)
        return found is not None and any(found in network for network in self.networks)

    def _client(self, peer: str, hops: list[_Hop]) -> _Hop:
        """Return the hop of the client: the nearest one that is no proxy, as far as their words can be read."""
        nearest = _Hop(peer)
        for hop in reversed(hops):
            client = _address(hop.client)
            if client is None:
                break
            nearest = hop._replace(client=client)
            if not self.believes(client):
                break
        return nearest


def proxies(trusted: Iterable[str]) -> Proxies:
    """Return the proxies that a config trusts."""
    named = tuple(trusted)
    networks = tuple(ip_network(each) for each in named if each != EVERY_ADDRESS)
    return Proxies(networks, all=EVERY_ADDRESS in named)


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    text = client[0] if client else ""
    # A socket for both families writes IPv4 addresses as IPv6 ones.
    return str(address(text)) if text.startswith("::ffff:") else text


def _hops(headers: Mapping[str, str]) -> Iterator[_Hop]:
    """Yield what proxies told, the farthest first; `Forwarded` counts where there is no X-Forwarded-For.

    A proxy that writes one of the two may pass on what its client wrote into the other.
    """
    listed = headers.get("x-forwarded-for")
    if listed is None and (forwarded := headers.get("forwarded")) is not None:
        yield from _forwarded(forwarded)
        return
    clients = _listed(listed)
    schemes, hosts = (
        _as_many(_listed(headers.get(name)), len(clients))
        for name in ("x-forwarded-proto", "x-forwarded-host")
    )
    for client, scheme, host in zip(clients, schemes, hosts, strict=True):
        yield _Hop(client, scheme.lower(), host)


def _listed(header: str | None) -> list[str]:
    return [] if header is None else [each.strip() for each in header.rsplit(",", _MOST_HOPS)]


def _as_many(said: list[str], count: int) -> list[str]:
    """Return one word for each hop; fewer words than hops are those of the nearest proxy."""
    return said if len(said) == count else [said[-1] if said else ""] * count


def _forwarded(header: str) -> Iterator[_Hop]:
    elements: list[dict[str, str]] = [{}]
    at = 0
    while at < len(header):
        match = _PARAMETER.match(header, at)
        if match is None:
            # Of a header that cannot be read nothing is believed.
            return
        at = match.end()
        if match["end"]:
            elements.append({})
        elif match["name"]:
            quoted = match["quoted"]
            value = match["plain"] if quoted is None else _ESCAPED.sub(r"\1", quoted)
            elements[-1][match["name"].lower()] = value
    for found in elements[-_MOST_HOPS:]:
        yield _Hop(found.get("for", ""), found.get("proto", "").lower(), found.get("host", ""))


def _address(text: str) -> str | None:
    """Return an address as proxies write it, with a port or without; None for other names of a client."""
    match = _WITH_PORT.fullmatch(text)
    found = address(text if match is None else match["six"] or match["four"])
    return None if found is None else str(found)


def _prefix(headers: Mapping[str, str]) -> str:
    said = headers.get("x-forwarded-prefix", "")
    return said.rstrip("/") if _PREFIX.fullmatch(said) else ""
