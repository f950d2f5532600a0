"""Bring a connection about: to the server itself or by a proxy, with TLS or without."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from vmcp.model.guard import Guard
from vmcp.net.errors import AddressRefused, NetError, ProxyFailed, no_tls
from vmcp.net.http1 import Connection
from vmcp.net.proxies import Proxy
from vmcp.net.reach import Address, Resolver, connected
from vmcp.net.tls import SYSTEM, Trust, context
from vmcp.net.tunnel import Tunnel, credential
from vmcp.net.url import Url

# Less than any answer is waited for, so that who is not reached is told as such; two lost packets fit in.
_CONNECT_SECONDS = 4.0

P = TypeVar("P", bound=asyncio.Protocol)
Make = Callable[[], Connection]


@dataclass(frozen=True, slots=True)
class Route:
    """How requests reach the origin of a URL."""

    url: Url
    trust: Trust
    proxy: Proxy | None

    @property
    def prefix(self) -> str:
        """What stands before the target of a request: a proxy that reads it wants to know where it goes."""
        return f"http://{self.url.authority}" if self._is_read_on_the_way else ""

    @property
    def header(self) -> str:
        """The line that shows a proxy that reads requests who we are."""
        if self.proxy is None or self.proxy.authorization is None or not self._is_read_on_the_way:
            return ""
        return credential(self.proxy.authorization.reveal())

    @property
    def _is_read_on_the_way(self) -> bool:
        return self.proxy is not None and self.url.scheme == "http"


async def dial(route: Route, resolver: Resolver, make: Make) -> Connection:
    """Return a connection that is open; raise NetError."""
    attempt = _Attempt(resolver)
    _check_host(route)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            if route.proxy is None:
                return await attempt.direct(route.url, route.trust, make)
            if route.url.scheme == "http":
                async with _blaming(route.proxy):
                    return await attempt.direct(route.proxy.url, SYSTEM, make)
            return await attempt.through(route.proxy, route, make)
    except TimeoutError:
        raise attempt.too_late(route.proxy) from None


def _check_host(route: Route) -> None:
    """Refuse a host that says itself where it is; what a proxy makes of a name is for the proxy to allow."""
    guard = route.trust.guard
    kind = None if guard is None else guard.refusal_of_host(route.url.host)
    if kind is not None:
        raise AddressRefused(kind)


def _allowed(addresses: Sequence[Address], guard: Guard) -> Sequence[Address]:
    """Return the addresses that may be dialled: those that were looked up, not what the name may mean next."""
    kinds = {each: guard.refusal(str(each.place[0])) for each in addresses}
    found = [each for each in addresses if kinds[each] is None]
    if not found:
        raise AddressRefused(next(iter(kinds.values())) or "no address")
    return found


class _Attempt:
    """One attempt, which knows what it waits for."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._stage, self._waits_for = "connect", "connection"
        self._is_past_proxy = False

    def too_late(self, proxy: Proxy | None) -> NetError:
        """Return what did not come to pass in time."""
        if proxy is not None and not self._is_past_proxy:
            return ProxyFailed(proxy.variable, f"no {self._waits_for} in time")
        return NetError(self._stage, f"no {self._waits_for} in time", sent=False)

    async def direct(self, url: Url, trust: Trust, make: Callable[[], P]) -> P:
        """Connect to a host itself, with TLS where its URL says so."""
        tls = context(trust) if url.scheme == "https" else None
        self._waits_for = "address of its host name"
        addresses = await self._resolver.addresses(url.host, url.port)
        if trust.guard is not None:
            addresses = _allowed(addresses, trust.guard)
        self._waits_for = "connection"
        made = await connected(addresses)
        if tls is not None:
            self._stage, self._waits_for = "tls", "TLS handshake"
        loop = asyncio.get_running_loop()
        name = None if tls is None else url.host
        try:
            _, protocol = await loop.create_connection(
                make, sock=made, ssl=tls, server_hostname=name
            )
        except OSError as error:
            raise no_tls(error) from None
        finally:
            self._stage = "connect"
        return protocol

    async def through(self, proxy: Proxy, route: Route, make: Make) -> Connection:
        """Have a proxy open the way, and speak TLS with the server behind it."""
        tls = context(route.trust)
        async with _blaming(proxy):
            tunnel = await self.direct(proxy.url, SYSTEM, lambda: Tunnel(proxy))
        try:
            self._waits_for = "answer"
            transport = await tunnel.ask(route.url)
            self._is_past_proxy = True
            self._stage, self._waits_for = "tls", "TLS handshake"
            return await _secured(transport, tls, route.url.host, make())
        except BaseException:
            tunnel.abort()
            raise


async def _secured(
    transport: asyncio.Transport, tls: ssl.SSLContext, host: str, connection: Connection
) -> Connection:
    loop = asyncio.get_running_loop()
    try:
        made = await loop.start_tls(transport, connection, tls, server_hostname=host)
    except OSError as error:
        raise no_tls(error) from None
    if made is None or made.is_closing():
        raise NetError("tls", "the connection was closed in the handshake", sent=False)
    connection.connection_made(made)
    return connection


@asynccontextmanager
async def _blaming(proxy: Proxy) -> AsyncIterator[None]:
    """Say of what goes wrong in the block that the proxy is the place."""
    try:
        yield
    except NetError as error:
        raise ProxyFailed(proxy.variable, str(error)) from None
