"""The seam through which every outgoing HTTP request goes: send one, get a head and a stream of chunks."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping

import aiohttp
from yarl import URL

from vmcp.net.tls import context

# Many servers drop a connection that was idle for 5 s; below that a request never meets one that is closing.
_IDLE_SECONDS = 4.0
_CONNECT_SECONDS = 10.0
_HEADER_LIMIT = 64 * 2**10
_PIECE = 2**18
_SKIPPED = ("User-Agent", "Accept-Encoding", "Accept", "Content-Type")


class NetError(Exception):
    """A request got no answer; `stage` says how far it came: connect, tls, send or read.

    `sent` is False only where the other side certainly saw nothing of the request.
    """

    def __init__(self, stage: str, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.stage = stage
        self.sent = sent


class BodyTooLarge(NetError):
    """The answer has more bytes than it may."""

    def __init__(self, limit: int) -> None:
        super().__init__("read", f"the answer is larger than {limit} bytes", sent=True)


class Response:
    """The head of an answer, and its body to be read once; close it in every case."""

    __slots__ = ("_inner", "content_type", "status")

    def __init__(self, inner: aiohttp.ClientResponse) -> None:
        self._inner = inner
        self.status = inner.status
        kind = inner.headers.get("Content-Type", "")
        self.content_type = kind.partition(";")[0].strip().lower()

    def header(self, name: str) -> str | None:
        """Return a header by its name in any case."""
        return self._inner.headers.get(name)

    async def read(self, limit: int) -> bytes:
        """Return the whole body; raise BodyTooLarge past `limit` bytes, and NetError."""
        parts: list[bytes] = []
        size = 0
        while chunk := await self._next():
            size += len(chunk)
            if size > limit:
                self.close()
                raise BodyTooLarge(limit)
            parts.append(chunk)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _next(self) -> bytes:
        try:
            return await self._inner.content.readany()
        except (aiohttp.ClientError, ValueError, OSError) as error:
            reason = type(error).__name__
            raise NetError("read", f"the answer broke off: {reason}", sent=True) from None

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; raise NetError when the connection breaks before its end."""
        while chunk := await self._next():
            yield chunk

    def close(self) -> None:
        """Give the connection back if the body was read to its end, else cut it."""
        if self._inner.content.is_eof():
            self._inner.release()
        else:
            self._inner.close()


class HttpClient:
    """Send requests over pooled connections; one pool for all backends that trust the same certificates."""

    def __init__(self, via: str | None = None) -> None:
        # What each request says of where it came through (RFC 9110, 7.6.3).
        self._headers = {} if via is None else {"Via": f"1.1 {via}"}
        self._pools: dict[str | None, aiohttp.ClientSession] = {}

    def _pool(self, ca_bundle: str | None) -> aiohttp.ClientSession:
        pool = self._pools.get(ca_bundle)
        if pool is None:
            pool = self._pools[ca_bundle] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    ssl=context(ca_bundle),
                    keepalive_timeout=_IDLE_SECONDS,
                    ttl_dns_cache=10,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
                headers=self._headers,
                skip_auto_headers=_SKIPPED,
                auto_decompress=True,
                max_line_size=_HEADER_LIMIT,
                max_field_size=_HEADER_LIMIT,
                read_bufsize=2**18,
            )
        return pool

    async def send(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        body: bytes | None,
        ca_bundle: str | None,
    ) -> Response:
        """Send a request and return the head of its answer, redirects as they are; raise NetError."""
        data: bytes | AsyncIterator[bytes] | None = body
        if body is not None and len(body) > _PIECE:
            # The library warns of large bodies that come as a whole.
            headers, data = {**headers, "Content-Length": str(len(body))}, _pieces(body)
        try:
            inner = await self._pool(ca_bundle).request(
                method, url, headers=headers, data=data, allow_redirects=False
            )
        except aiohttp.ClientConnectorCertificateError as error:
            raise NetError("tls", _reason(error.certificate_error), sent=False) from None
        except aiohttp.ClientSSLError as error:
            raise NetError("tls", _reason(error), sent=False) from None
        except aiohttp.ClientConnectorError as error:
            raise NetError("connect", _reason(error.os_error), sent=False) from None
        except aiohttp.ServerTimeoutError:
            raise NetError("connect", "no connection in time", sent=False) from None
        except (aiohttp.ClientError, ValueError, OSError) as error:
            raise NetError(
                "send", f"the connection broke: {type(error).__name__}", sent=True
            ) from None
        return Response(inner)

    async def close(self) -> None:
        """Close all connections."""
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.close()
        # aiohttp closes TLS transports in a later turn of the loop.
        await asyncio.sleep(0)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), _PIECE):
        yield body[at : at + _PIECE]


def _reason(error: BaseException) -> str:
    """Say why without addresses: the text of an OS or verification error, never a URL."""
    verify = getattr(error, "verify_message", None)
    if verify:
        return f"the certificate is not trusted: {verify}"
    if isinstance(error, socket.gaierror):
        return "the host name does not resolve"
    # asyncio writes the address into strerror, so the number is looked up anew.
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return type(error).__name__
