"""Streamable HTTP to a backend of the sessioned era (2024-11-05 to 2025-11-25)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, aclosing, nullcontext
from functools import partial

from vmcp.gateway.ports import Reply
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Peer
from vmcp.net.http1 import Response
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Answer, Ask, Call, Client, Done
from vmcp.protocol.document import quote, quote_name
from vmcp.protocol.failures import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    BackendFailed,
)
from vmcp.protocol.methods import NEWEST_SESSIONED
from vmcp.transport.outgoing import answers, compose, handshake, relay
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.handshake import BackendSession
from vmcp.transport.outgoing.hearing import Hearing, is_worth_it
from vmcp.transport.outgoing.identity import OUR_INFO, Ids
from vmcp.transport.outgoing.pipe import EVENTS, HttpPipe
from vmcp.transport.outgoing.resumption import resumed
from vmcp.transport.outgoing.sessions import Sessions
from vmcp.transport.outgoing.speech import EraContradicted, Hear, NoStream, Refused, ping

log = logging.getLogger(__name__)

_STREAM_SECONDS = 10.0
# The time for a whole opening; who waits for it gives up earlier where its backend may take less.
_OPENING_SECONDS = 60.0
# How servers in practice say with status 400 that a session is gone.
_SESSION_CODES = (INVALID_REQUEST, -32000, -32001)
# What only a server of the other era answers with.
_STATELESS_CODES = (HEADER_MISMATCH, UNSUPPORTED_VERSION)


class SessionGone(Exception):
    """The backend says that a session exists no more; what was asked was not executed.

    `end` is the answer itself where it may as well be about the call.
    """

    def __init__(self, end: Done | None = None) -> None:
        super().__init__()
        self.end = end


class SessionedHttp:
    """Speak to a sessioned backend: in our own session for ourselves, in one of theirs for clients."""

    def __init__(self, backend: Backend, pipe: HttpPipe, ids: Ids, errands: Errands) -> None:
        self._backend = backend
        self._pipe = pipe
        self._ids = ids
        self._errands = errands
        self._own: BackendSession | None = None
        self._sessions = Sessions(self._open_for, self._farewell)
        self._hearings: dict[BackendSession, tuple[Hearing, asyncio.Task[None]]] = {}

    async def open(self) -> Peer:
        """Open our own session; raise BackendFailed, or EraContradicted if the backend refuses."""
        try:
            self._own = await handshake.initialize(
                self._pipe, self._ids, compose.WIDEST_CAPABILITIES, OUR_INFO, NEWEST_SESSIONED
            )
        except EraContradicted:
            # Whoever is there now knows nothing of the sessions of clients.
            self._sessions.forget_all()
            for session in tuple(self._hearings):
                self._deafen(session)
            raise
        await handshake.initialized(self._pipe, self._own)
        return self._own.peer

    async def close(self) -> None:
        """End our own session; those of clients stay; raise BackendFailed."""
        if self._own is not None:
            await handshake.end(self._pipe, self._own)

    def _ours(self) -> BackendSession:
        if self._own is None:
            raise BackendFailed(self._pipe.name, "Unreachable", "it is not connected.")
        return self._own

    @property
    def peer(self) -> Peer:
        """What the backend said when our own session was opened."""
        return self._ours().peer

    async def ask(self, method: str, params: Document) -> Document:
        """Put a request of our own in our own session."""
        return await self._ask_in(self._ours(), method, params, self._backend.timeout_seconds)

    async def probe(self) -> None:
        """Ping the backend in our own session."""
        await ping(partial(self._ask_in, self._ours(), seconds=None))

    async def _ask_in(
        self, session: BackendSession, method: str, params: Document, seconds: float | None
    ) -> Document:
        identity = self._ids.next()
        body = compose.own_request(method, identity, params, Era.SESSIONED, OUR_INFO)
        try:
            async with asyncio.timeout(seconds):
                response = await self._pipe.post(body, session.headers)
                found = await self._answer(session, response, identity)
        except SessionGone:
            raise BackendFailed(self._pipe.name, "SessionLost", "our session is gone.") from None
        except EraContradicted as error:
            raise BackendFailed(self._pipe.name, "InvalidAnswer", f"{error}.") from None
        except TimeoutError:
            raise BackendFailed(
                self._pipe.name, "TimedOut", f"no answer to {method} in time."
            ) from None
        return answers.result(found, self._pipe.name)

    async def subscribe(self, uri: str) -> None:
        """Ask for updates of a resource in our own session, which hears them."""
        await self.ask("resources/subscribe", Document(((b'"uri"', quote(uri)),)))

    async def unsubscribe(self, uri: str) -> None:
        """Ask for no more updates of a resource."""
        await self.ask("resources/unsubscribe", Document(((b'"uri"', quote(uri)),)))

    async def listen(self, hear: Hear, ready: Callable[[], None]) -> None:
        """Hold the stream of our own session open and hand over what comes."""
        session = self._ours()
        try:
            async with asyncio.timeout(_STREAM_SECONDS):
                response = await self._pipe.get(session.headers)
        except TimeoutError:
            # A server may hold back the head of its answer until it has something to say.
            raise NoStream from None
        if response.status != 200 or response.content_type != EVENTS:
            response.close()
            if response.status == 404 and session.id is not None:
                raise BackendFailed(self._pipe.name, "SessionLost", "our session is gone.")
            raise NoStream
        ready()
        async with self._pipe.messages(response) as messages:
            async for message in messages:
                if isinstance(message, jsonrpc.Notification):
                    hear(message)
                elif isinstance(message, jsonrpc.Request):
                    answer = relay.own_answer(message.method)
                    self._errands.start(self._send_answer(session, message.id, answer))

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        """Carry a call in the client's session; a session that is gone is opened anew, once."""
        client = call.client
        if self._ours().id is None:
            return await self._call_without_id(call, reply)
        if not client.lasting and self._backend.session_scope == "call":
            return await self._call_alone(call, reply)
        session = self._sessions.known(client) or await self._sessions.of(client)
        try:
            return await self._call_in(session, call, reply)
        except SessionGone:
            self._sessions.lose(client, session)
            self._deafen(session)
        return await self._call_in_new(await self._sessions.of(client), call, reply)

    async def _call_in_new(self, session: BackendSession, call: Call, reply: Reply) -> Done | Ask:
        try:
            return await self._call_in(session, call, reply)
        except SessionGone as gone:
            # A session that has just begun is not gone: this is about the call.
            if gone.end is not None:
                return gone.end
        raise BackendFailed(self._pipe.name, "SessionLost", "its sessions end at once.")

    async def _call_without_id(self, call: Call, reply: Reply) -> Done | Ask:
        try:
            return await self._call_in(self._ours(), call, reply)
        except SessionGone as gone:
            end = gone.end
        await self.open()
        if self._ours().id is not None:
            return await self.call(call, reply)
        if end is not None:
            return end
        raise EraContradicted("it knows nothing of what it was asked")

    async def _call_alone(self, call: Call, reply: Reply) -> Done | Ask:
        session = await self._open_for(call.client)
        try:
            return await self._call_in_new(session, call, reply)
        finally:
            self._farewell(session)

    async def _hear(self, session: BackendSession) -> None:
        """Open the stream of a client's session: some servers put there what a call needs to know."""

        async def send(asked: bytes, answer: Answer) -> None:
            await self._send_answer(session, asked, answer)

        hearing = Hearing(self._pipe, session, send)
        if (task := self._errands.keep(hearing.run())) is None:
            return
        self._hearings[session] = hearing, task
        task.add_done_callback(lambda _: self._hearings.pop(session, None))
        await hearing.begun()

    def _deafen(self, session: BackendSession) -> None:
        if session in self._hearings:
            self._hearings.pop(session)[1].cancel()

    def _during(
        self, session: BackendSession, call: Call, reply: Reply
    ) -> AbstractContextManager[None]:
        found = self._hearings.get(session)
        return nullcontext() if found is None else found[0].during(call, reply)

    def _farewell(self, session: BackendSession) -> None:
        self._deafen(session)
        self._errands.start(handshake.end(self._pipe, session))

    async def _open_for(self, client: Client) -> BackendSession:
        """Open a session for a client; one that opens when nobody waits for it any more is ended."""
        wanted: asyncio.Future[BackendSession] = asyncio.get_running_loop().create_future()
        if not self._errands.start(self._open_into(wanted, client), _OPENING_SECONDS):
            raise BackendFailed(self._pipe.name, "Unreachable", "it is not connected.")
        try:
            return await wanted
        except asyncio.CancelledError:
            if not wanted.cancelled() and wanted.exception() is None:
                self._farewell(wanted.result())
            raise

    async def _open_into(self, wanted: asyncio.Future[BackendSession], client: Client) -> None:
        try:
            session = await self._opened(wanted, client)
        except asyncio.CancelledError:
            if not wanted.done():
                message = "no session was opened in time."
                wanted.set_exception(BackendFailed(self._pipe.name, "TimedOut", message))
            raise
        except (BackendFailed, EraContradicted) as error:
            if not wanted.done():
                wanted.set_exception(error)
            return
        if wanted.done():
            self._deafen(session)
            await handshake.end(self._pipe, session)
        else:
            wanted.set_result(session)

    async def _opened(
        self, wanted: asyncio.Future[BackendSession], client: Client
    ) -> BackendSession:
        version = client.version if client.era is Era.SESSIONED else NEWEST_SESSIONED
        session = await handshake.initialize(
            self._pipe, self._ids, client.capabilities, client.info or OUR_INFO, version
        )
        if not wanted.done():
            await handshake.initialized(self._pipe, session)
            await self._set_level(session, client)
            if session.id is not None and is_worth_it(client.capabilities):
                await self._hear(session)
        return session

    async def _set_level(self, session: BackendSession, client: Client) -> None:
        level = client.log_level
        if level in (None, session.log_level) or not session.peer.capabilities.get(b'"logging"'):
            return
        session.log_level = level
        try:
            await self._ask_in(
                session,
                "logging/setLevel",
                Document(((b'"level"', quote(str(level))),)),
                self._backend.timeout_seconds,
            )
        except (Refused, BackendFailed) as error:
            reason = type(error).__name__
            log.info("log level was refused", extra={"backend": self._pipe.name, "reason": reason})

    async def _call_in(self, session: BackendSession, call: Call, reply: Reply) -> Done | Ask:
        identity = self._ids.next()
        body = compose.sessioned(call, identity)
        headers = session.headers
        if travelling := self._pipe.travelling(call.headers):
            headers = {**headers, **travelling}
        session.begin()
        try:
            with self._during(session, call, reply):
                response = await self._pipe.post(body, headers)
                if response.status == 200 and response.content_type == EVENTS:
                    return await self._follow(session, response, identity, call, reply)
                return answers.end(await self._answer(session, response, identity))
        except asyncio.CancelledError:
            session.begin()
            self._errands.start(self._cancel(session, identity))
            raise
        finally:
            session.finish()

    async def _follow(
        self, session: BackendSession, response: Response, identity: bytes, call: Call, reply: Reply
    ) -> Done:
        async def send(asked: bytes, answer: Answer) -> None:
            await self._send_answer(session, asked, answer)

        async with aclosing(resumed(self._pipe, session, response, reply)) as messages:
            done = await relay.follow(messages, identity, call, reply, send)
        if done is None:
            raise BackendFailed(
                self._pipe.name, "ConnectionLost", "its stream ended without an answer."
            )
        return done

    async def _answer(
        self, session: BackendSession, response: Response, identity: bytes
    ) -> jsonrpc.Response:
        if response.status == 404 and session.id is not None:
            response.close()
            raise SessionGone
        found = await self._pipe.answer(response, identity)
        if response.status == 400 and (code := answers.code(found)) is not None:
            if code in _SESSION_CODES:
                raise SessionGone(answers.end(found))
            if code in _STATELESS_CODES:
                raise EraContradicted(f"it refused a request with code {code}", answers.end(found))
        return found

    async def _send_answer(self, session: BackendSession, asked: bytes, answer: Answer) -> None:
        body = jsonrpc.response(asked, answer.payload, is_error=answer.is_error)
        (await self._pipe.post(body, session.headers)).close()

    async def _cancel(self, session: BackendSession, identity: bytes) -> None:
        body = jsonrpc.notification(
            b'"notifications/cancelled"', b'{"requestId":' + identity + b"}"
        )
        try:
            (await self._pipe.post(body, session.headers)).close()
        finally:
            session.finish()

    async def notify(self, client: Client, method: str, params: bytes | None) -> None:
        """Pass a notification on in the client's session, if one is open."""
        if (session := self._sessions.known(client)) is not None:
            body = jsonrpc.notification(quote_name(method), params)
            (await self._pipe.post(body, session.headers)).close()

    async def set_level(self, client: Client) -> None:
        """Bring the client's log level to its session, if one is open."""
        if (session := self._sessions.known(client)) is not None:
            await self._set_level(session, client)

    def retune(self, backend: Backend) -> None:
        """Go on with other settings of the backend."""
        self._backend = backend

    def forget_clients(self) -> None:
        """End the sessions of all clients at the backend."""
        for session in self._sessions.take_all():
            self._farewell(session)

    async def release(self, client: Client) -> None:
        """End the client's session at the backend."""
        if (session := self._sessions.take(client)) is not None:
            self._deafen(session)
            await handshake.end(self._pipe, session)
