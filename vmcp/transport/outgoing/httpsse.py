"""The older HTTP+SSE transport (2024-11-05) to a backend: each session has a stream and an address to post to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from vmcp.gateway.ports import Reply
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.net.http1 import Response
from vmcp.net.url import Url
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Ask, Call, Client, Done
from vmcp.protocol.document import quote_name
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.methods import NEWEST_SESSIONED
from vmcp.protocol.sse import EventTooLarge, Parser, ServerEvent
from vmcp.transport.outgoing import answers, handshake, stdio_sessioned
from vmcp.transport.outgoing.channel import Channel, Exchange
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.identity import OUR_INFO, Ids
from vmcp.transport.outgoing.levels import Levels
from vmcp.transport.outgoing.pipe import EVENTS, HttpPipe, refusal
from vmcp.transport.outgoing.sessions import Sessions
from vmcp.transport.outgoing.speech import EraContradicted, Hear
from vmcp.transport.outgoing.stdio_sessioned import SessionedStdio

log = logging.getLogger(__name__)

_OPEN_SECONDS = 10.0
_ANSWER_LIMIT = 64 * 2**10
_SESSION_LOST = "SessionLost"


class Link(Channel):
    """One connection, which is one session: what is posted is answered on its stream.

    `is_private` says that all its calls are those of one client session.
    """

    def __init__(self, pipe: HttpPipe, ids: Ids, errands: Errands, *, is_private: bool) -> None:
        super().__init__(pipe.name, ids)
        self._posts = pipe
        self._errands = errands
        self._is_private = is_private
        self._address: asyncio.Future[Url] = asyncio.get_running_loop().create_future()
        self._reading: asyncio.Task[None] | None = None
        self.headers = pipe.headers({})

    @property
    def is_lost(self) -> bool:
        """Whether its stream has ended."""
        return self._why is not None

    async def open(self) -> None:
        """Open the stream and wait for the address; raise BackendFailed or EraContradicted."""
        self._reading = self._errands.keep(self._read())
        if self._reading is None:
            raise BackendFailed(self.name, "Unreachable", "it is not connected.")
        try:
            async with asyncio.timeout(_OPEN_SECONDS):
                await asyncio.shield(self._address)
        except TimeoutError:
            self.close()
            raise BackendFailed(
                self.name, "TimedOut", "its stream named no endpoint in time."
            ) from None

    def close(self) -> None:
        """Close the stream, and with it the session."""
        if self._reading is not None:
            self._reading.cancel()

    async def _read(self) -> None:
        failure: BackendFailed | EraContradicted | None = None
        try:
            await self._follow(await self._posts.get(self.headers))
        except (BackendFailed, EraContradicted) as error:
            failure = error
        finally:
            self.lost("its stream has ended" if failure is None else "its stream was lost")
            if not self._address.done():
                self._address.set_exception(
                    failure or EraContradicted("its stream ended before it named its endpoint")
                )
                # Nobody may be left who would take it.
                self._address.exception()

    async def _follow(self, response: Response) -> None:
        try:
            if response.status != 200 or response.content_type != EVENTS:
                raise _unlike(self.name, response)
            parser = Parser(answers.BODY_LIMIT)
            async for chunk in self._posts.chunks(response):
                for event in parser.feed(chunk):
                    self._take(event)
        except EventTooLarge as error:
            failure = BackendFailed(self.name, "TooLarge", f"{error}.")
            # Which of the calls it would have answered, nobody knows: with the stream all of them end.
            for exchange in self._open.values():
                exchange.fail(failure)
            raise failure from None
        finally:
            response.close()

    def _take(self, event: ServerEvent) -> None:
        if event.type == b"endpoint":
            if not self._address.done():
                self._address.set_result(self._posts.beside(event.data.decode(errors="replace")))
        elif event.type in (b"", b"message") and event.data:
            self.heard(event.data)

    async def send(self, message: bytes) -> None:
        """Post a message; raise BackendFailed."""
        await self._post(message, self.headers)

    def _offer(self, message: bytes) -> None:
        self._errands.start(self._post(message, self.headers))

    async def begin(self, exchange: Exchange, message: bytes) -> None:
        """Post a request without waiting: a server may answer the POST only after it has answered the request."""
        headers = self.headers
        if exchange.call is not None and (
            travelling := self._posts.travelling(exchange.call.headers)
        ):
            headers = {**headers, **travelling}
        exchange.posting = self._errands.keep(self._posted(exchange, message, headers))

    async def _posted(self, exchange: Exchange, message: bytes, headers: dict[str, str]) -> None:
        try:
            await self._post(message, headers)
        except BackendFailed as failure:
            exchange.fail(failure)

    async def _post(self, message: bytes, headers: dict[str, str]) -> None:
        if self.is_lost or not self._address.done():
            raise self._lost("ConnectionLost")
        response = await self._posts.post_to(self._address.result(), message, headers)
        try:
            if response.status == 404:
                raise BackendFailed(self.name, _SESSION_LOST, "it knows the session no more.")
            if response.status not in range(200, 300):
                raise refusal(self.name, response)
            await self._posts.read(response, _ANSWER_LIMIT)
        finally:
            response.close()

    def _reader(self, message: jsonrpc.Notification) -> Exchange | None:
        """Return the newest call of the client whose session it is."""
        calls = self._calls()
        if not self._is_private or not message.method.startswith("notifications/"):
            return super()._reader(message)
        return calls[-1] if calls else None

    def _answerer(self, asked: jsonrpc.Request) -> Exchange | None:
        """Return the newest call of the client that declared what is wanted."""
        if not self._is_private:
            return super()._answerer(asked)
        fit = [each for each in self._calls() if each.may_be_asked(asked)]
        return fit[-1] if fit else None


def _unlike(name: str, response: Response) -> BackendFailed | EraContradicted:
    """Return what is wrong with an answer that is no stream."""
    if response.status in (200, 400, 404, 405, 406):
        return EraContradicted("it offers no stream of the older HTTP+SSE transport")
    return refusal(name, response)


@dataclass(slots=True, eq=False)
class SseSession:
    """An open session: its connection, and how one speaks on it."""

    link: Link
    speech: SessionedStdio


class SessionedSse:
    """Speak to a backend of the older transport: on our own connection, and on one for each client session."""

    def __init__(self, backend: Backend, pipe: HttpPipe, ids: Ids, errands: Errands) -> None:
        self._backend = backend
        self._pipe = pipe
        self._ids = ids
        self._errands = errands
        self._own: SseSession | None = None
        self._sessions = Sessions(self._open_for, _ended)

    async def open(self) -> Peer:
        """Open our own session; raise BackendFailed, or EraContradicted where it is no such backend."""
        try:
            self._own = await self._opened(stdio_sessioned.OURS, is_private=False)
        except EraContradicted:
            # Whoever is there now knows nothing of the sessions of clients.
            self._sessions.forget_all()
            raise
        return self._own.speech.peer

    async def close(self) -> None:
        """End our own session; those of clients stay."""
        if self._own is not None:
            self._own.link.close()

    async def _opened(self, params: bytes, *, is_private: bool) -> SseSession:
        link = Link(self._pipe, self._ids, self._errands, is_private=is_private)
        try:
            await link.open()
            speech = await stdio_sessioned.initialize(
                self._backend, link, Levels(), _OPEN_SECONDS, params
            )
        except BaseException:
            link.close()
            raise
        link.headers = self._pipe.headers({"MCP-Protocol-Version": speech.peer.version})
        return SseSession(link, speech)

    async def _open_for(self, client: Client) -> SseSession:
        version = client.version if client.era is Era.SESSIONED else NEWEST_SESSIONED
        params = handshake.params(client.capabilities, client.info or OUR_INFO, version)
        return await self._opened(params, is_private=client.lasting)

    def _ours(self) -> SessionedStdio:
        if self._own is None:
            raise BackendFailed(self._pipe.name, "Unreachable", "it is not connected.")
        return self._own.speech

    @property
    def peer(self) -> Peer:
        """What the backend said when our own session was opened."""
        return self._ours().peer

    async def ask(self, method: str, params: Document) -> Document:
        """Put a request of our own in our own session."""
        return await self._ours().ask(method, params)

    async def probe(self) -> None:
        """Ping the backend in our own session."""
        await self._ours().probe()

    async def listen(self, hear: Hear, ready: Callable[[], None]) -> None:
        """Hear what is told in our own session, until it is lost."""
        await self._ours().listen(hear, ready)

    async def subscribe(self, uri: str) -> None:
        """Ask for updates of a resource in our own session, which hears them."""
        await self._ours().subscribe(uri)

    async def unsubscribe(self, uri: str) -> None:
        """Ask for no more updates of a resource."""
        await self._ours().unsubscribe(uri)

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        """Carry a call in the client's session; one that is gone is opened anew, once."""
        client = call.client
        if not client.lasting and self._backend.session_scope == "call":
            session = await self._open_for(client)
            try:
                return await session.speech.call(call, reply)
            finally:
                session.link.close()
        session = await self._session(client)
        try:
            return await session.speech.call(call, reply)
        except BackendFailed as failure:
            if failure.reason != _SESSION_LOST:
                raise
        self._drop(client, session)
        return await (await self._sessions.of(client)).speech.call(call, reply)

    async def _session(self, client: Client) -> SseSession:
        known = self._sessions.known(client)
        if known is not None and known.link.is_lost:
            self._drop(client, known)
        return await self._sessions.of(client)

    def _drop(self, client: Client, session: SseSession) -> None:
        session.link.close()
        self._sessions.lose(client, session)

    async def notify(self, client: Client, method: str, params: bytes | None) -> None:
        """Pass a notification on in the client's session, if one is open."""
        session = self._sessions.known(client)
        if session is not None and not session.link.is_lost:
            message = jsonrpc.notification(quote_name(method), params)
            await session.link.send(message)

    async def set_level(self, client: Client) -> None:
        """Bring the client's log level to its session, if one is open."""
        if (session := self._sessions.known(client)) is not None:
            await session.speech.set_level(client)

    def retune(self, backend: Backend) -> None:
        """Go on with other settings of the backend."""
        self._backend = backend
        if self._own is not None:
            self._own.speech.retune(backend)

    def forget_clients(self) -> None:
        """End the sessions of all clients at the backend."""
        for session in self._sessions.take_all():
            _ended(session)

    async def release(self, client: Client) -> None:
        """End the client's session at the backend."""
        if (session := self._sessions.take(client)) is not None:
            session.link.close()


def _ended(session: SseSession) -> None:
    session.link.close()
