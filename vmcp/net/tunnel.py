"""Have a proxy open the way to a server (CONNECT): the bytes that follow belong to the two ends."""

from __future__ import annotations

import asyncio
from typing import cast

import httptools

from vmcp.net.errors import ProxyFailed, broken_off
from vmcp.net.proxies import Proxy
from vmcp.net.url import Url

_HEAD_LIMIT = 64 * 2**10


class Tunnel(asyncio.Protocol):
    """A connection to a proxy until it leads to the server."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._parser = httptools.HttpResponseParser(self)
        self._read = 0
        self._status = 0
        self._has_more = False
        self._told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None

    async def ask(self, url: Url) -> asyncio.Transport:
        """Ask for the way to a server and return the transport that leads there; raise ProxyFailed."""
        transport = self.transport
        if transport is not None:
            transport.write(_request(self._proxy, url))
            await self._told
        if transport is None or transport.is_closing():
            raise self._failure(broken_off(None))
        return transport

    def abort(self) -> None:
        """End the connection."""
        if self.transport is not None:
            self.transport.abort()

    def _failure(self, message: str) -> ProxyFailed:
        return ProxyFailed(self._proxy.variable, message)

    def _tell(self, failure: ProxyFailed | None) -> None:
        if self._told.done():
            return
        if failure is None:
            self._told.set_result(None)
        else:
            self._told.set_exception(failure)
            # Who asked may have gone.
            self._told.exception()

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read the head of the answer."""
        self._read += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._tell(self._failure("its answer is no HTTP/1.1"))
            return
        if self._status:
            self._tell(self._judged())
        elif self._read > _HEAD_LIMIT:
            self._tell(self._failure("its answer does not end"))

    def _judged(self) -> ProxyFailed | None:
        if not 200 <= self._status < 300:
            return self._failure(refusal(self._proxy, self._status))
        # A server of TLS waits for us to speak first.
        return self._failure("it sends more than an answer") if self._has_more else None

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._tell(self._failure(broken_off(exc)))

    # What the parser tells.

    def on_headers_complete(self) -> None:
        """Take the answer; an interim one (1xx) is passed over."""
        status = self._parser.get_status_code()
        self._status = status if status >= 200 else 0

    def on_body(self, _body: bytes) -> None:
        """Note that there is more than a head."""
        self._has_more = True


def refusal(proxy: Proxy, status: int) -> str:
    """Return what it means that a proxy refuses us."""
    if status != 407:
        return f"it answered with status {status}"
    asks = "it wants credentials" if proxy.authorization is None else "it refuses our credentials"
    return f"{asks} (status {status})"


def _request(proxy: Proxy, url: Url) -> bytes:
    host = f"[{url.host}]" if ":" in url.host else url.host
    place = f"{host}:{url.port}"
    shown = "" if proxy.authorization is None else credential(proxy.authorization.reveal())
    return f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{shown}\r\n".encode("latin-1")


def credential(authorization: str) -> str:
    """Return the line that shows a proxy who we are."""
    return f"Proxy-Authorization: {authorization}\r\n"
