"""Speak the sessioned era (2024-11-05 to 2025-11-25) to one process that serves all clients."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from vmcp.gateway.ports import Reply
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Answer, Ask, Call, Client, Done
from vmcp.protocol.document import quote
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.methods import NEWEST_SESSIONED
from vmcp.transport.outgoing import compose, handshake, relay
from vmcp.transport.outgoing.channel import Channel
from vmcp.transport.outgoing.identity import OUR_INFO
from vmcp.transport.outgoing.levels import Levels
from vmcp.transport.outgoing.speech import Hear, Refused, ping

log = logging.getLogger(__name__)


# What we say of ourselves when the session is everybody's.
OURS = handshake.params(compose.WIDEST_CAPABILITIES, OUR_INFO, NEWEST_SESSIONED)


class SessionedStdio:
    """An open session; a process has but one, so it is ours and every client's."""

    def __init__(self, backend: Backend, channel: Channel, levels: Levels, peer: Peer) -> None:
        self.peer = peer
        self._backend = backend
        self._channel = channel
        self._levels = levels
        self._level: str | None = None

    async def ask(self, method: str, params: Document) -> Document:
        """Put a request of our own."""
        return await self._channel.ask(method, params, Era.SESSIONED, self._backend.timeout_seconds)

    async def probe(self) -> None:
        """Ping the backend."""
        await ping(partial(self._channel.ask, era=Era.SESSIONED, seconds=None))

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        """Carry a call; what the server asks meanwhile goes to its client."""
        if call.client.log_level is not None:
            await self.set_level(call.client)
        async with self._channel.exchange(partial(compose.sessioned, call), call) as exchange:
            done = await relay.follow(exchange, exchange.identity, call, reply, self._answer)
        if done is None:
            raise BackendFailed(
                self._backend.name, "InvalidAnswer", "the call ended without an answer."
            )
        return done

    async def _answer(self, asked: bytes, answer: Answer) -> None:
        await self._channel.send(jsonrpc.response(asked, answer.payload, is_error=answer.is_error))

    async def listen(self, hear: Hear, ready: Callable[[], None]) -> None:
        """Hear what the process tells unasked, until it is lost."""
        self._channel.hear = hear
        ready()
        await self._channel.until_lost()

    async def subscribe(self, uri: str) -> None:
        """Ask for updates of a resource."""
        await self.ask("resources/subscribe", Document(((b'"uri"', quote(uri)),)))

    async def unsubscribe(self, uri: str) -> None:
        """Ask for no more updates of a resource."""
        await self.ask("resources/unsubscribe", Document(((b'"uri"', quote(uri)),)))

    async def notify(self, client: Client, method: str, params: bytes | None) -> None:
        """Do nothing: the session is everybody's, so what one client says of itself does not hold in it."""

    async def set_level(self, client: Client) -> None:
        """Have the process log what its most curious client wants; each gets its own share of it."""
        self._levels.take(client)
        await self.bring_level()

    def retune(self, backend: Backend) -> None:
        """Go on with other settings of the backend."""
        self._backend = backend

    def forget_clients(self) -> None:
        """Do nothing: the process is all that is kept."""

    async def release(self, client: Client) -> None:
        """Count the client's log level no more."""
        self._levels.forget(client)
        await self.bring_level()

    async def bring_level(self) -> None:
        """Tell the process the log level if it is another one now."""
        level = self._levels.widest()
        if level in (None, self._level) or not self.peer.capabilities.get(b'"logging"'):
            return
        self._level = level
        try:
            await self.ask("logging/setLevel", Document(((b'"level"', quote(str(level))),)))
        except (Refused, BackendFailed) as error:
            extra = {"backend": self._backend.name, "reason": type(error).__name__}
            log.info("log level was refused", extra=extra)


async def initialize(
    backend: Backend, channel: Channel, levels: Levels, seconds: float, params: bytes = OURS
) -> SessionedStdio:
    """Open the session; raise BackendFailed, or EraContradicted where `initialize` is refused."""
    channel.answers_requests = True

    def body(identity: bytes) -> bytes:
        return jsonrpc.request(identity, b'"initialize"', params)

    try:
        async with asyncio.timeout(seconds):
            async with channel.exchange(body) as exchange:
                found = await exchange.response()
            peer = handshake.welcome(found, backend.name)
            await channel.send(jsonrpc.notification(b'"notifications/initialized"', None))
    except TimeoutError:
        raise BackendFailed(backend.name, "TimedOut", "no answer to initialize in time.") from None
    speech = SessionedStdio(backend, channel, levels, peer)
    await speech.bring_level()
    return speech
