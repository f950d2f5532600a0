"""Speak the stateless era (2026-07-28) to one process: every request says all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vmcp.gateway.capabilities import takes_subscriptions
from vmcp.gateway.ports import Reply
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Ask, Call, Client, Done
from vmcp.protocol.document import EMPTY, MalformedJson
from vmcp.protocol.failures import METHOD_NOT_FOUND, BackendFailed
from vmcp.transport.outgoing import answers, compose
from vmcp.transport.outgoing.channel import ACKNOWLEDGED, CANCELLED, Channel, Exchange
from vmcp.transport.outgoing.discovery import peer_of
from vmcp.transport.outgoing.identity import OUR_INFO
from vmcp.transport.outgoing.speech import Hear, Refused

# How long a process that cannot be listened to is left alone before its lists count as stale.
_UNHEARD_SECONDS = 30.0


class StatelessStdio:
    """A process that was asked who it is."""

    def __init__(self, backend: Backend, channel: Channel, peer: Peer) -> None:
        self.peer = peer
        self._backend = backend
        self._channel = channel
        self._uris: set[str] = set()
        self._wanted: frozenset[str] = frozenset()
        self._listening: Exchange | None = None

    async def ask(self, method: str, params: Document) -> Document:
        """Put a request of our own."""
        return await self._channel.ask(method, params, Era.STATELESS, self._backend.timeout_seconds)

    async def probe(self) -> None:
        """Ask again who is there."""
        async with self._channel.exchange(discover) as exchange:
            found = await exchange.response()
        self.peer = peer_of(found, self._backend.name)

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        """Carry a call; what the server wants of the client ends it as an Ask."""
        async with self._channel.exchange(partial(compose.stateless, call), call) as exchange:
            found = await _followed(exchange, call, reply)
        try:
            return answers.input_required(found) or answers.end(found)
        except MalformedJson:
            raise BackendFailed(
                self._backend.name, "InvalidAnswer", "its input_required is malformed."
            ) from None

    async def listen(self, hear: Hear, ready: Callable[[], None]) -> None:
        """Hold a subscription open, with another one in its place whenever the resources change."""
        self._channel.hear = hear
        try:
            last = await self._subscribed(hear, ready)
        except BackendFailed:
            await self._channel.until_lost(0)
            raise
        if isinstance(last, jsonrpc.Response) and last.is_error:
            # It cannot be listened to: its lists are asked for again now and then; its loss shows at once.
            ready()
            await self._channel.until_lost(_UNHEARD_SECONDS)

    async def _subscribed(self, hear: Hear, ready: Callable[[], None]) -> jsonrpc.Message:
        """Follow one subscription after the other to the message that ends the last one."""
        old: Exchange | None = None
        while True:
            async with self._channel.exchange(self._subscription) as exchange:
                if old is not None:
                    # Only now, so that nothing is missed between the two.
                    self._channel.cancel(old.identity)
                last = await self._heard(exchange, hear, ready)
            if last is not None:
                return last
            old, ready = exchange, _open_already

    def _subscription(self, identity: bytes) -> bytes:
        self._wanted = frozenset(self._uris)
        params = compose.subscription(self._wanted)
        return compose.own_request(
            "subscriptions/listen", identity, params, Era.STATELESS, OUR_INFO
        )

    async def _heard(
        self, exchange: Exchange, hear: Hear, ready: Callable[[], None]
    ) -> jsonrpc.Message | None:
        """Follow a subscription to the message that ends it; None where it is to be replaced."""
        self._listening = exchange
        self._renew()
        try:
            async for message in exchange:
                if isinstance(message, jsonrpc.Response):
                    return message
                if isinstance(message, jsonrpc.Request):
                    continue
                if message.method == CANCELLED:
                    return message
                if message.method == ACKNOWLEDGED:
                    ready()
                else:
                    hear(message)
        finally:
            self._listening = None
        return None

    def _renew(self) -> None:
        if self._listening is not None and self._wanted != self._uris:
            self._listening.close()

    async def subscribe(self, uri: str) -> None:
        """Add a resource to what the subscription asks for."""
        if not takes_subscriptions(self.peer):
            raise Refused(METHOD_NOT_FOUND, "The backend offers no resource subscriptions.")
        self._uris.add(uri)
        self._renew()

    async def unsubscribe(self, uri: str) -> None:
        """Take a resource out of what the subscription asks for."""
        self._uris.discard(uri)
        self._renew()

    async def notify(self, client: Client, method: str, params: bytes | None) -> None:
        """Do nothing: this era has no notifications from clients."""

    async def set_level(self, client: Client) -> None:
        """Do nothing: each request carries its own log level."""

    def retune(self, backend: Backend) -> None:
        """Go on with other settings of the backend."""
        self._backend = backend

    def forget_clients(self) -> None:
        """Do nothing: nothing is kept for a client."""

    async def release(self, client: Client) -> None:
        """Do nothing: nothing is kept for a client."""


async def _followed(exchange: Exchange, call: Call, reply: Reply) -> jsonrpc.Response:
    async for message in exchange:
        if isinstance(message, jsonrpc.Response):
            return message
        note = answers.note(call, message) if isinstance(message, jsonrpc.Notification) else None
        if note is not None:
            await reply.note(note)
    raise RuntimeError("only a subscription is closed before its response")


def _open_already() -> None:
    """Say nothing: another subscription was open all the time."""


def discover(identity: bytes) -> bytes:
    """Write the request by which a server tells what it speaks."""
    return compose.own_request("server/discover", identity, EMPTY, Era.STATELESS, OUR_INFO)
