"""One client on a way of its own, on which messages go in both directions: stdio, or the older HTTP+SSE."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.document import MalformedJson, split
from vmcp.protocol.failures import Failure
from vmcp.protocol.methods import META_VERSION
from vmcp.transport.incoming.delivery import Deliver, Delivery
from vmcp.transport.incoming.endpoint import Endpoint
from vmcp.transport.incoming.limits import Refused
from vmcp.transport.incoming.request import Guest

log = logging.getLogger(__name__)

_MOST_MESSAGES = 256
_INITIALIZED = "notifications/initialized"
_CANCELLED = "notifications/cancelled"
_DISCOVER = "server/discover"
_LISTEN = "subscriptions/listen"


class Busy(Exception):
    """The client has so many messages under way that it must wait."""


class Dialogue:
    """Serve the messages of one client, each in a task; `deliver` sends one message to it.

    `era` is fixed, or None where the first request decides it: `server/discover` alone does not, since clients
    of either era ask it.
    """

    def __init__(
        self, endpoint: Endpoint, deliver: Deliver, guest: Guest, era: Era | None = None
    ) -> None:
        self._endpoint = endpoint
        self._deliver = deliver
        self.guest = guest
        self._era = era
        self._session: str | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._works: dict[asyncio.Task[None], bytes | None] = {}
        self._stream: asyncio.Task[None] | None = None
        self._quiet = asyncio.Event()
        # Set when the session has ended on our side.
        self.ended = asyncio.Event()

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """Take messages while the block runs; at its end what is under way is cancelled, and the session ends."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                if self._session is not None:
                    self._endpoint.leave(self._session, self.guest)
                for work in (*self._works, self._stream):
                    if work is not None:
                        work.cancel()

    async def quiet(self) -> None:
        """Wait until nothing is under way."""
        while self._works:
            self._quiet.clear()
            await self._quiet.wait()

    async def take(self, body: bytes) -> asyncio.Task[None] | None:
        """Begin to serve a message and return what serves it, None where nothing does; raise Busy.

        What opens the session is served before this returns.
        """
        message = _read(body)
        is_told = isinstance(message, jsonrpc.Notification | jsonrpc.Response)
        if len(self._works) >= _MOST_MESSAGES and not is_told:
            raise Busy
        if self._era is None and _is_stateless(message):
            self._era = Era.STATELESS
        if self._era is Era.STATELESS and _is(message, _CANCELLED):
            self._cancel(message)
            return None
        work = self._begin(body, message)
        if isinstance(message, jsonrpc.Request) and message.method == "initialize":
            await self.quiet()
        return work

    def _begin(self, body: bytes, message: jsonrpc.Message | None) -> asyncio.Task[None] | None:
        if self._tasks is None:
            return None
        identity = message.id if isinstance(message, jsonrpc.Request) else None
        work = self._tasks.create_task(self._guarded(body, message))
        self._works[work] = identity
        work.add_done_callback(self._done)
        return work

    def _done(self, work: asyncio.Task[None]) -> None:
        del self._works[work]
        if not self._works:
            self._quiet.set()

    def _cancel(self, message: jsonrpc.Message | None) -> None:
        """Cancel a request of the stateless era, in which nothing else answers for it."""
        if not isinstance(message, jsonrpc.Notification):
            return
        wanted = message.params.get(b'"requestId"')
        for work, identity in tuple(self._works.items()):
            if identity is not None and identity == wanted:
                work.cancel()

    async def _guarded(self, body: bytes, message: jsonrpc.Message | None) -> None:
        delivery = Delivery(self._way_back(message))
        try:
            await self._serve(body, message, delivery)
        except Exception:
            # The fault is ours: the other messages must not fall with this one.
            log.exception("a message could not be served")
        finally:
            delivery.left()

    def _way_back(self, message: jsonrpc.Message | None) -> Deliver:
        if isinstance(message, jsonrpc.Notification | jsonrpc.Response):
            # It gets no answer, whatever is wrong with it.
            return _nowhere
        if isinstance(message, jsonrpc.Request) and message.method == _LISTEN:
            return _Subscribed(message.id, self._deliver).take
        return self._deliver

    async def _serve(
        self, body: bytes, message: jsonrpc.Message | None, delivery: Delivery
    ) -> None:
        era = self._era
        if era is None and not _is_discover(message):
            era = Era.SESSIONED
        http = delivery.request("POST", self._headers(), self.guest)
        try:
            await self._endpoint.take(http, body, era)
        except Refused as refused:
            payload = Failure(refused.message).payload()
            await self._deliver(jsonrpc.response(jsonrpc.identity(body), payload, is_error=True))
        if delivery.session is not None:
            self._open(delivery.session)
        elif _is(message, _INITIALIZED) and self._session is not None and self._stream is None:
            self._listen()

    def _headers(self) -> dict[str, str]:
        return {} if self._session is None else {"mcp-session-id": self._session}

    def _open(self, session: str) -> None:
        if self._session is not None:
            # A second `initialize` begins anew.
            self._endpoint.leave(self._session, self.guest)
        self._session, self._era = session, Era.SESSIONED

    def _listen(self) -> None:
        """Hear what the server says unasked, once the client is ready for it."""
        if self._tasks is not None:
            self._stream = self._tasks.create_task(self._heard())

    async def _heard(self) -> None:
        delivery = Delivery(self._deliver)
        try:
            # A stream on which too much waited was closed; the next one begins with what has changed.
            while True:
                await self._endpoint.listen(delivery.request("GET", self._headers(), self.guest))
                delivery = Delivery(self._deliver)
        except (Failure, Refused):
            self.ended.set()
        finally:
            delivery.left()


class _Subscribed:
    """The way back of a subscription: where no stream of its own can end, its end is told as a cancellation."""

    def __init__(self, identity: bytes, deliver: Deliver) -> None:
        self._identity = identity
        self._deliver = deliver

    async def take(self, message: bytes) -> None:
        """Deliver a message."""
        found = jsonrpc.read_peer(message)
        if isinstance(found, jsonrpc.Response) and not found.is_error:
            params = b'{"requestId":' + self._identity + b"}"
            message = jsonrpc.notification(b'"notifications/cancelled"', params)
        await self._deliver(message)


async def _nowhere(_message: bytes) -> None:
    """Deliver nothing."""


def _read(body: bytes) -> jsonrpc.Message | None:
    """Return a message as far as it can be read; what is wrong with it is told by whoever serves it."""
    try:
        return jsonrpc.read(body)
    except Failure:
        return None


def _is(message: jsonrpc.Message | None, method: str) -> bool:
    return isinstance(message, jsonrpc.Notification) and message.method == method


def _is_discover(message: jsonrpc.Message | None) -> bool:
    return isinstance(message, jsonrpc.Request) and message.method == _DISCOVER


def _is_stateless(message: jsonrpc.Message | None) -> bool:
    """Tell whether a message is a request of the stateless era that fixes it."""
    if not isinstance(message, jsonrpc.Request) or message.method in ("initialize", _DISCOVER):
        return False
    try:
        return split(message.params.get(b'"_meta"') or b"{}").get(META_VERSION) is not None
    except MalformedJson:
        return False
