"""The seam through which every outgoing HTTP request goes: send one, get a head and a stream of chunks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping

from vmcp.net.budget import Budget
from vmcp.net.dial import Route, dial
from vmcp.net.errors import NetError, ProxyFailed
from vmcp.net.http1 import Connection, Response
from vmcp.net.proxies import NO_PROXIES, Proxies, Unusable
from vmcp.net.reach import Resolver, system_lookup
from vmcp.net.tls import Trust
from vmcp.net.tunnel import refusal
from vmcp.net.url import Url

# Many servers drop a connection that was idle for 5 s; below that a request never meets one that is closing.
_IDLE_SECONDS = 4.0
_WANTS_CREDENTIALS = 407
# What large answers may take of the memory while they come, all backends together.
_MOST_ANSWER_BYTES = 512 * 2**20


class Pool:
    """The connections to one origin by one route: kept while idle, the one used last goes first."""

    def __init__(self, route: Route, resolver: Resolver, budget: Budget) -> None:
        self._route = route
        self._resolver = resolver
        self._budget = budget
        self._prefix, self._credential = route.prefix, route.header
        self._idle: deque[Connection] = deque()
        self._all: set[Connection] = set()
        self._opening = 0
        self._is_closed = False
        self._sweep: asyncio.TimerHandle | None = None

    @property
    def is_unused(self) -> bool:
        """Whether there is nothing to keep the pool for."""
        return not self._all and not self._opening

    def head(self, method: str, url: Url) -> str:
        """Return how a request to a URL begins."""
        target = self._prefix + url.target
        return f"{method} {target} HTTP/1.1\r\nHost: {url.authority}\r\n{self._credential}"

    def check(self, response: Response) -> None:
        """Note who may have answered in the server's place; raise ProxyFailed where it certainly did."""
        if not self._prefix or (proxy := self._route.proxy) is None:
            return
        response.proxy = proxy.variable
        if response.status == _WANTS_CREDENTIALS:
            raise ProxyFailed(proxy.variable, refusal(proxy, response.status))

    async def connection(self) -> Connection:
        """Return a connection that carries nothing; raise NetError where none can be had."""
        freshest = asyncio.get_running_loop().time() - _IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since >= freshest:
                return connection
            self._drop(connection)
        return await self._open()

    async def _open(self) -> Connection:
        self._opening += 1
        try:
            connection = await dial(self._route, self._resolver, self._made)
        finally:
            self._opening -= 1
        if self._is_closed:
            connection.abort()
        if connection.is_open:
            self._all.add(connection)
        return connection

    def _made(self) -> Connection:
        return Connection(self._take_back, self._all.discard, self._budget)

    def _take_back(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = loop.call_later(_IDLE_SECONDS, self._close_old)

    def _close_old(self) -> None:
        loop = asyncio.get_running_loop()
        oldest = loop.time() - _IDLE_SECONDS
        while self._idle and (not self._idle[0].is_open or self._idle[0].idle_since <= oldest):
            self._drop(self._idle.popleft())
        self._sweep = loop.call_later(_IDLE_SECONDS, self._close_old) if self._idle else None

    def _drop(self, connection: Connection) -> None:
        self._all.discard(connection)
        connection.abort()

    def close(self) -> None:
        """Close all connections, those in use and those to come too."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in tuple(self._all):
            self._drop(connection)


class HttpClient:
    """Send requests over pooled connections, as many as are wanted at once: who calls bounds that."""

    def __init__(
        self,
        via: str | None = None,
        proxies: Proxies = NO_PROXIES,
        resolver: Resolver | None = None,
    ) -> None:
        # What each request says of where it came through (RFC 9110, 7.6.3).
        self._via = "" if via is None else f"1.1 {via}"
        self._proxies = proxies
        self._resolver = resolver or Resolver(system_lookup)
        self._budget = Budget(_MOST_ANSWER_BYTES)
        self._pools: dict[tuple[tuple[str, str, int], Trust], Pool] = {}
        self._is_closed = False

    async def send(
        self, method: str, url: Url, headers: Mapping[str, str], body: bytes | None, trust: Trust
    ) -> Response:
        """Send a request and return the head of its answer, redirects as they are; raise NetError.

        The values of headers have a character for each of their bytes. What stands in `Via` is gone on with.
        """
        key = (url.origin, trust)
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = self._new_pool(url, trust)
        if "Via" in headers:
            headers = self._gone_on(headers)
        request = self._request(pool.head(method, url), headers, body)
        response = (await pool.connection()).exchange(request)
        try:
            await response.head()
            pool.check(response)
        except BaseException:
            response.close()
            raise
        return response

    def _new_pool(self, url: Url, trust: Trust) -> Pool:
        if self._is_closed:
            raise NetError("connect", "the client is closed", sent=False)
        proxy = self._proxies.of(url)
        if isinstance(proxy, Unusable):
            raise ProxyFailed(proxy.variable, "its value is no http or https URL")
        # Origins come and go; those that are gone are forgotten whenever one comes.
        self._pools = {key: pool for key, pool in self._pools.items() if not pool.is_unused}
        return Pool(Route(url, trust, proxy), self._resolver, self._budget)

    def _gone_on(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Add us to those through whom a request came."""
        return {**headers, "Via": ", ".join(filter(None, (headers["Via"], self._via)))}

    def _request(self, head: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
        # A client's own Via has us in it already.
        first = f"Via: {self._via}\r\n" if self._via and "Via" not in headers else ""
        lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}\r\n")
        rest = "".join(lines)
        if rest.count("\n") != len(lines) or rest.count("\r") != len(lines) or "\0" in rest:
            raise NetError("send", "a header has a line end or a NUL in it", sent=False)
        return _encoded(f"{head}{first}{rest}\r\n") + (body or b"")

    async def close(self) -> None:
        """Close all connections; none is opened any more."""
        self._is_closed = True
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            pool.close()
        # Transports close in later turns of the loop, those of TLS in the third.
        for _ in range(3):
            await asyncio.sleep(0)


def _encoded(head: str) -> bytes:
    try:
        return head.encode("latin-1")
    except UnicodeEncodeError:
        raise NetError("send", "a header has a character that is no byte", sent=False) from None
