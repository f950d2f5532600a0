"""How many connections there are, and how many of them one client has; whoever comes past that is turned away."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network

from vmcp.config.load import Loaded
from vmcp.latest import Latest
from vmcp.model.address import address
from vmcp.transport.incoming.arrival import Proxies, proxies

log = logging.getLogger(__name__)

# What one subscriber is given: all of it is one client.
_SUBSCRIBER_BITS = 64
_SAID_AGAIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most connections of all and of one client; proxies that are trusted stand for many clients."""

    connections: int
    per_client: int
    proxies: Proxies


def bounds(loaded: Loaded) -> Bounds:
    """Return what a config allows."""
    server = loaded.config.server
    return Bounds(
        server.limits.connections,
        server.limits.connections_per_client,
        proxies(server.trusted_proxies),
    )


async def follow(loaded: Latest[Loaded], cell: Latest[Bounds]) -> None:
    """Keep the bounds as the config says until cancelled; connections that are open stay."""
    async for each in loaded.changes():
        cell.set(bounds(each))


class Crowd:
    """Those who are connected; only numbers are kept. `descriptors` are how many files the process may open."""

    def __init__(self, bounds: Latest[Bounds], descriptors: int) -> None:
        self._bounds = bounds
        # A call of a client may need as much again at a backend.
        self._most = max(1, descriptors // 2)
        self._by_client: Counter[str] = Counter()
        self._said_at: dict[str, float] = {}
        self.count = 0
        self.turned_away = 0

    def enter(self, peer: str, now: float) -> str | None:
        """Count a connection and return under which name it leaves; None where there is no room for it."""
        allowed, client = self._bounds.value, client_of(peer)
        if self.count >= allowed.connections:
            self._turn_away("server.limits.connections", now)
            return None
        if self.count >= self._most:
            self._turn_away("open files", now)
            return None
        is_full = self._by_client[client] >= allowed.per_client
        if is_full and not allowed.proxies.believes(peer):
            self._turn_away("server.limits.connectionsPerClient", now)
            return None
        self.count += 1
        self._by_client[client] += 1
        return client

    def leave(self, client: str) -> None:
        """Count a connection no more."""
        self.count -= 1
        self._by_client[client] -= 1
        if not self._by_client[client]:
            del self._by_client[client]

    def _turn_away(self, limit: str, now: float) -> None:
        self.turned_away += 1
        if now - self._said_at.get(limit, -_SAID_AGAIN_SECONDS) >= _SAID_AGAIN_SECONDS:
            self._said_at[limit] = now
            fields = {"limit": limit, "turned_away": self.turned_away}
            log.warning("connections are turned away", extra=fields)


def client_of(peer: str) -> str:
    """Return the name of the client at an address: in IPv6 it is a network."""
    found = address(peer)
    if isinstance(found, IPv6Address):
        return str(IPv6Network((found, _SUBSCRIBER_BITS), strict=False))
    return peer if found is None else str(found)
