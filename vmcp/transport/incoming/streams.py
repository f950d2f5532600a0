"""Answers in a session: each stream can be left and come back to, by the ids of its events."""

from __future__ import annotations

import asyncio

from vmcp.gateway.replay import Trail
from vmcp.gateway.sessions import Session
from vmcp.protocol import jsonrpc, sse
from vmcp.protocol.call import Answer, Ask, Note
from vmcp.protocol.document import quote
from vmcp.protocol.methods import NEWEST_SESSIONED
from vmcp.transport.incoming.answer import HttpAnswer
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.request import HttpRequest

_ANSWER_SECONDS = 300.0
# How long a question waits for a client that has left its stream.
_RETURN_SECONDS = 60.0
_NOBODY = Answer(b'{"code":-32603,"message":"The client cannot be asked."}', is_error=True)
_SILENT = Answer(b'{"code":-32603,"message":"The client gave no answer in time."}', is_error=True)


def _is_primed(request: HttpRequest, session: Session) -> bool:
    """Tell whether a client takes an event without data, which older ones find broken."""
    return session.client.version == NEWEST_SESSIONED and not request.is_bare


class SessionedAnswer(HttpAnswer):
    """The answer to a call in a session: a client that drops the connection has not cancelled it.

    Once a stream has begun, all that is said on it is kept, so that the client can come back for it.
    """

    __slots__ = ("_alone_since", "_asks", "_id", "_session", "_trail")

    def __init__(
        self, request: HttpRequest, keeper: Keeper, session: Session, identity: bytes
    ) -> None:
        super().__init__(request, keeper)
        self._session = session
        self._id = identity
        self._trail: Trail | None = None
        self._asks: set[asyncio.Future[Answer]] = set()
        self._alone_since: float | None = None

    @property
    def prefers_stream(self) -> bool:
        """Whether the client would rather have a stream, whatever there is to say."""
        return self._request.accepted.prefers_stream

    # The stream, whether its client is there or not.

    def _stream(self) -> Trail:
        if self._trail is None:
            self._trail = self._session.trail(self._id)
            self._trail.attach(self)
            if self._request.is_bare:
                # On a way of its own there is no stream to come back to.
                self._trail.drop()
        return self._trail

    def _opening(self) -> bytes:
        if _is_primed(self._request, self._session):
            return self._stream().opening()
        return b""

    async def event(self, message: bytes) -> None:
        """Say something on the stream, to a client that has left it for when it comes back."""
        if self.has_left and self._trail is None:
            return
        trail = self._stream()
        event = trail.add(message)
        if trail.reader is self:
            await self._chunk(event)

    async def _finish_stream(self, message: bytes) -> None:
        if not self.has_left or self._trail is not None:
            trail = self._stream()
            event = trail.add(message)
            trail.close()
            if trail.reader is self:
                await self._chunk(event)
        await self._shut()

    async def close(self) -> None:
        """End the answer to a call that is cancelled: there is nothing to come back for."""
        if self._trail is not None:
            self._trail.close()
            self._trail.drop()
        await self._shut()

    async def _shut(self) -> None:
        """End the connection, unless it was ended before."""
        if not self._is_shut:
            await super().close()

    async def rest(self, retry_milliseconds: int | None) -> None:
        """End the connection and not the stream, where the client knows that it is to come back."""
        if not self.may_stream or not _is_primed(self._request, self._session) or self.has_left:
            return
        trail = self._stream()
        if trail.reader is self:
            await self._chunk(sse.retry(retry_milliseconds) if retry_milliseconds else sse.COMMENT)
            trail.detach(self)
            await self._shut()

    # What is said on it.

    async def note(self, note: Note) -> None:
        """Send a notification on the call's stream."""
        if self.may_stream:
            await self.event(jsonrpc.notification(quote(note.method), note.params))

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        """Put requests to the client on the call's stream and wait for the answers it posts."""
        async with asyncio.TaskGroup() as tasks:
            works = [
                tasks.create_task(self._ask(each.method, each.params)) for each in ask.requests
            ]
        return tuple(work.result() for work in works)

    async def _ask(self, method: str, params: bytes | None) -> Answer:
        if not self.may_stream or (self.has_left and self._trail is None):
            return _NOBODY
        identity, future = self._session.ask()
        self._asks.add(future)
        try:
            await self.event(jsonrpc.request(identity, quote(method), params))
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await future
        except TimeoutError:
            await self._withdraw(identity)
            return _SILENT
        except asyncio.CancelledError:
            await self._withdraw(identity)
            raise
        finally:
            self._asks.discard(future)
            self._session.asked(identity)

    async def _withdraw(self, identity: bytes) -> None:
        params = b'{"requestId":' + identity + b"}"
        await self.event(jsonrpc.notification(b'"notifications/cancelled"', params))

    # Who is there to hear it.

    def left(self) -> None:
        """Take note that the client has left; it may come back."""
        if self._trail is not None:
            self._trail.detach(self)
            if not self._trail.is_kept:
                self._give_up()

    def _give_up(self) -> None:
        for future in tuple(self._asks):
            if not future.done():
                future.set_result(_NOBODY)

    def is_due(self, now: float) -> bool:
        """Tell whether it was silent for too long, or its questions have nobody to answer them."""
        if self._trail is None or self._trail.reader is not None:
            self._alone_since = None
            return super().is_due(now)
        if self._alone_since is None:
            self._alone_since = now
        return bool(self._asks) and now - self._alone_since >= _RETURN_SECONDS

    async def beat(self) -> None:
        """Show that we are still here, or let nobody wait for a client that does not come back."""
        if self._trail is None or self._trail.reader is not None:
            await super().beat()
        else:
            self._give_up()


class StreamAnswer(HttpAnswer):
    """A stream that was opened with a GET: what the server says unasked, or a stream come back to."""

    __slots__ = ("_session", "_trail")

    def __init__(
        self, request: HttpRequest, keeper: Keeper, session: Session, trail: Trail, after: int = 0
    ) -> None:
        super().__init__(request, keeper)
        self._session = session
        self._trail = trail
        trail.attach(self, after)

    async def run(self) -> None:
        """Send what comes until the stream is closed, or another one has taken its place."""
        await self._chunk(self._first())
        while (event := await self._trail.next(self)) is not None and not self.has_left:
            await self._chunk(event)
        await self.close()

    def _first(self) -> bytes:
        if "last-event-id" in self._request.headers:
            return sse.COMMENT
        return self._trail.opening() if _is_primed(self._request, self._session) else sse.COMMENT

    def left(self) -> None:
        """End the stream of a client that has left."""
        self._trail.detach(self)
