"""Clients of the sessioned era (2024-11-05 to 2025-11-25): POST, GET and DELETE with Mcp-Session-Id."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from vmcp.gateway.capabilities import SERVER_INFO
from vmcp.gateway.core import Gateway
from vmcp.gateway.deadline import CallCancelled
from vmcp.gateway.dispatch import name_of
from vmcp.gateway.outbox import Outbox
from vmcp.gateway.sessions import Session
from vmcp.gateway.watchers import PROMPTS, RESOURCES, TOOLS, digests
from vmcp.model.document import Document
from vmcp.model.identity import ANONYMOUS
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Answer, Ask, Call, Client, Done, Note
from vmcp.protocol.document import is_object, quote
from vmcp.protocol.failures import Failure, InvalidParams, SessionRequired
from vmcp.protocol.methods import LOG_LEVELS, META_PROGRESS, NEWEST_SESSIONED, SESSIONED_VERSIONS
from vmcp.transport.incoming.answer import HttpAnswer
from vmcp.transport.incoming.asgi import respond
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.limits import Refused
from vmcp.transport.incoming.request import HttpRequest

log = logging.getLogger(__name__)

_ANSWER_SECONDS = 300.0
_NOBODY = Answer(b'{"code":-32603,"message":"The client cannot be asked."}', is_error=True)
_SILENT = Answer(b'{"code":-32603,"message":"The client gave no answer in time."}', is_error=True)
_LISTS = {
    "tools/list": TOOLS,
    "prompts/list": PROMPTS,
    "resources/list": RESOURCES,
    "resources/templates/list": RESOURCES,
}


class SessionedAnswer(HttpAnswer):
    """The answer to a call in a session: a client that drops the connection has not cancelled it."""

    __slots__ = ("_asks", "_session")

    def __init__(self, request: HttpRequest, keeper: Keeper, session: Session) -> None:
        super().__init__(request, keeper)
        self._session = session
        self._asks: set[asyncio.Future[Answer]] = set()

    async def note(self, note: Note) -> None:
        """Send a notification on the call's stream."""
        if self.may_stream and not self.has_left:
            await self.event(jsonrpc.notification(quote(note.method), note.params))

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        """Put requests to the client on the call's stream and wait for the answers it posts."""
        async with asyncio.TaskGroup() as tasks:
            works = [
                tasks.create_task(self._ask(each.method, each.params)) for each in ask.requests
            ]
        return tuple(work.result() for work in works)

    async def _ask(self, method: str, params: bytes | None) -> Answer:
        if not self.may_stream or self.has_left:
            return _NOBODY
        identity, future = self._session.ask()
        self._asks.add(future)
        try:
            await self.event(jsonrpc.request(identity, quote(method), params))
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await future
        except TimeoutError:
            return _SILENT
        except asyncio.CancelledError:
            await self._withdraw(identity)
            raise
        finally:
            self._asks.discard(future)
            self._session.asked(identity)

    async def _withdraw(self, identity: bytes) -> None:
        if not self.has_left:
            params = b'{"requestId":' + identity + b"}"
            await self.event(jsonrpc.notification(b'"notifications/cancelled"', params))

    def left(self) -> None:
        """Let nobody wait for answers that can no more be asked for."""
        for future in tuple(self._asks):
            if not future.done():
                future.set_result(_NOBODY)


class StreamAnswer(HttpAnswer):
    """A GET stream: what the server says unasked."""

    __slots__ = ("outbox",)

    def __init__(self, request: HttpRequest, keeper: Keeper) -> None:
        super().__init__(request, keeper)
        self.outbox = Outbox()

    async def run(self) -> None:
        """Send what comes until the stream is closed."""
        await self.begin()
        while (message := await self.outbox.get()) is not None and not self.has_left:
            await self.event(message)
        await self.close()

    def left(self) -> None:
        """End the stream of a client that has left."""
        self.outbox.close()


class SessionedEndpoint:
    """Serve the messages and streams of client sessions."""

    def __init__(self, gateway: Gateway, keeper: Keeper) -> None:
        self._gateway = gateway
        self._keeper = keeper
        self._own: Mapping[str, Callable[[Session, Document], Awaitable[bytes]]] = {
            "ping": self._ping,
            "logging/setLevel": self._set_level,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
        }

    def session(self, request: HttpRequest) -> Session:
        """Return the session that a request names; raise SessionRequired or SessionUnknown."""
        identity = request.headers.get("mcp-session-id")
        if identity is None:
            raise SessionRequired(
                "A session is needed: send initialize, then each request with the Mcp-Session-Id of its answer."
            )
        return self._gateway.sessions.find(identity, ANONYMOUS)

    async def post(
        self, request: HttpRequest, message: jsonrpc.Message, meta: Document | None
    ) -> None:
        """Serve one posted message; raise a Failure where it cannot be served."""
        if isinstance(message, jsonrpc.Request):
            if message.method == "initialize":
                await self._initialize(request, message)
            else:
                await self._request(request, message, meta, self.session(request))
            return
        session = self.session(request)
        if isinstance(message, jsonrpc.Response):
            session.answer(message)
        else:
            await self._notified(session, message)
        await respond(request.send, 202, b"", (request.id_header,))

    async def _initialize(self, request: HttpRequest, message: jsonrpc.Request) -> None:
        wanted = name_of(message.params, b'"protocolVersion"')
        version = wanted if wanted in SESSIONED_VERSIONS else NEWEST_SESSIONED
        declared = message.params.get(b'"capabilities"') or b"{}"
        if not is_object(declared):
            raise InvalidParams("The capabilities must be an object.")
        client = Client(
            Era.SESSIONED,
            version,
            declared,
            message.params.get(b'"clientInfo"'),
            ANONYMOUS,
            lasting=True,
        )
        catalog = self._gateway.views.catalog_of(ANONYMOUS)
        session = self._gateway.sessions.create(client, digests(catalog))
        result = b'{"protocolVersion":%b,%b,"serverInfo":%b}' % (
            quote(version),
            self._gateway.views.greeting_of(ANONYMOUS, Era.SESSIONED),
            SERVER_INFO,
        )
        answer = SessionedAnswer(request, self._keeper, session)
        body = jsonrpc.response(message.id, result, is_error=False)
        await answer.finish(body, 200, (b"mcp-session-id", session.id.encode()))

    async def _request(
        self,
        request: HttpRequest,
        message: jsonrpc.Request,
        meta: Document | None,
        session: Session,
    ) -> None:
        answer = SessionedAnswer(request, self._keeper, session)
        session.begin(message.id, answer.deadline)
        self._keeper.add(answer)
        try:
            done = await self._done(request, message, meta, session, answer)
        except Failure as failure:
            self._gateway.failed(message.method, failure, request.id)
            done = Done(failure.payload(), is_error=True)
        except CallCancelled:
            # The specification wants no response to a request that was cancelled.
            await answer.close()
            return
        finally:
            session.finish(message.id, answer.deadline)
            self._keeper.remove(answer)
        await answer.finish(jsonrpc.response(message.id, done.payload, is_error=done.is_error))

    async def _done(
        self,
        request: HttpRequest,
        message: jsonrpc.Request,
        meta: Document | None,
        session: Session,
        answer: SessionedAnswer,
    ) -> Done:
        if (own := self._own.get(message.method)) is not None:
            return Done(await own(session, message.params))
        token = meta.get(META_PROGRESS) if meta is not None else None
        call = Call(session.client, message.method, message.params, meta, token, request.headers)
        seen = (
            digests(self._gateway.views.catalog_of(ANONYMOUS)) if message.method in _LISTS else None
        )
        done = await self._gateway.dispatch.call(call, answer)
        if seen is not None:
            kind = _LISTS[message.method]
            session.saw(kind, seen[kind])
        return done

    async def _ping(self, _session: Session, _params: Document) -> bytes:
        return b"{}"

    async def _set_level(self, session: Session, params: Document) -> bytes:
        level = name_of(params, b'"level"')
        if level not in LOG_LEVELS:
            raise InvalidParams(f"The level must be one of: {', '.join(LOG_LEVELS)}.")
        session.client.log_level = level
        await self._gateway.pool.set_level(session.client)
        return b"{}"

    async def _subscribe(self, session: Session, params: Document) -> bytes:
        uri = name_of(params, b'"uri"')
        reader = self._gateway.reader(session.client, uri)
        # Known before the backend answers: the session may end meanwhile.
        session.uris |= {uri}
        await self._gateway.watchers.join(session, uri, reader)
        return b"{}"

    async def _unsubscribe(self, session: Session, params: Document) -> bytes:
        uri = name_of(params, b'"uri"')
        session.uris -= {uri}
        await self._gateway.watchers.leave(session, uri)
        return b"{}"

    async def _notified(self, session: Session, message: jsonrpc.Notification) -> None:
        if message.method == "notifications/initialized":
            return
        if message.method == "notifications/cancelled":
            session.cancel(message.params.get(b'"requestId"') or b"")
            return
        params = jsonrpc.params_json(message.params)
        await self._gateway.notified(session.client, message.method, params)

    async def get(self, request: HttpRequest) -> None:
        """Serve a stream of what the server says unasked; raise Refused or a Failure."""
        if not request.accepted.stream:
            raise Refused(406, "A GET opens an event stream: send Accept: text/event-stream.")
        session = self.session(request)
        answer = StreamAnswer(request, self._keeper)
        session.open(answer.outbox, digests(self._gateway.views.catalog_of(session.caller)))
        self._keeper.add(answer)
        try:
            await answer.run()
        finally:
            self._keeper.remove(answer)
            session.close(answer.outbox)

    async def delete(self, request: HttpRequest) -> None:
        """End a session; raise a Failure."""
        self._gateway.sessions.end(self.session(request))
        await respond(request.send, 204, b"", (request.id_header,))
