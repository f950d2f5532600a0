"""Clients of the sessioned era (2024-11-05 to 2025-11-25): POST, GET and DELETE with Mcp-Session-Id."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from vmcp.gateway.core import Gateway
from vmcp.gateway.deadline import CallCancelled
from vmcp.gateway.dispatch import name_of
from vmcp.gateway.replay import Trail
from vmcp.gateway.sessions import Session
from vmcp.gateway.watchers import PROMPTS, RESOURCES, TOOLS, digests
from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Call, Client, Done
from vmcp.protocol.declared import check_size
from vmcp.protocol.document import is_object, quote
from vmcp.protocol.failures import Failure, InvalidParams, SessionRequired, UnknownMethod
from vmcp.protocol.methods import (
    ADDED,
    LOG_LEVELS,
    META_PROGRESS,
    NEWEST_SESSIONED,
    SESSIONED_VERSIONS,
)
from vmcp.transport.incoming.answer import HttpAnswer
from vmcp.transport.incoming.asgi import respond
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.limits import Refused
from vmcp.transport.incoming.request import HttpRequest
from vmcp.transport.incoming.streams import SessionedAnswer, StreamAnswer

log = logging.getLogger(__name__)

_LISTS = {
    "tools/list": TOOLS,
    "prompts/list": PROMPTS,
    "resources/list": RESOURCES,
    "resources/templates/list": RESOURCES,
}


# As long as the longest one that a template is matched with; as many as a subscription names.
_LONGEST_URI = 8192
_MOST_URIS = 1000


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
            **dict.fromkeys(ADDED, self._refuse),
        }

    def session(self, request: HttpRequest) -> Session:
        """Return the session that a request names; raise SessionRequired or SessionUnknown."""
        identity = request.headers.get("mcp-session-id")
        if identity is None:
            raise SessionRequired(
                "A session is needed: send initialize, then each request with the Mcp-Session-Id of its answer."
            )
        return self._gateway.sessions.find(identity, request.caller, request.view)

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
        info = message.params.get(b'"clientInfo"')
        check_size(declared, info)
        client = Client(
            Era.SESSIONED,
            version,
            declared,
            info,
            request.caller,
            request.view,
            lasting=True,
        )
        views = self._gateway.views
        session = self._gateway.sessions.create(client, digests(views.catalog_of(client)))
        result = b'{"protocolVersion":%b,%b,"serverInfo":%b}' % (
            quote(version),
            views.greeting_of(client, Era.SESSIONED),
            views.server_info_of(client),
        )
        answer = SessionedAnswer(request, self._keeper, session, message.id)
        body = jsonrpc.response(message.id, result, is_error=False)
        await answer.finish(body, 200, (b"mcp-session-id", session.id.encode()))

    async def _request(
        self,
        request: HttpRequest,
        message: jsonrpc.Request,
        meta: Document | None,
        session: Session,
    ) -> None:
        answer = SessionedAnswer(request, self._keeper, session, message.id)
        session.begin(message.id, answer.deadline)
        self._keeper.add(answer)
        try:
            if answer.prefers_stream:
                await answer.begin()
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
        if request.account is not None:
            request.account.ended(done.payload, is_error=done.is_error)
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
        about = session.client, message.method, message.params, meta, token, request.headers
        call = Call(*about, request.account)
        seen = (
            digests(self._gateway.views.catalog_of(session)) if message.method in _LISTS else None
        )
        done = await self._gateway.dispatch.call(call, answer)
        if seen is not None:
            kind = _LISTS[message.method]
            session.saw(kind, seen[kind])
        return done

    async def _ping(self, _session: Session, _params: Document) -> bytes:
        return b"{}"

    async def _refuse(self, _session: Session, _params: Document) -> bytes:
        raise UnknownMethod("Method not found: it belongs to a later revision than this session's.")

    async def _set_level(self, session: Session, params: Document) -> bytes:
        level = name_of(params, b'"level"')
        if level not in LOG_LEVELS:
            raise InvalidParams(f"The level must be one of: {', '.join(LOG_LEVELS)}.")
        session.client.log_level = level
        await self._gateway.pool.set_level(session.client)
        return b"{}"

    async def _subscribe(self, session: Session, params: Document) -> bytes:
        uri = name_of(params, b'"uri"')
        if len(uri) > _LONGEST_URI:
            raise InvalidParams(f"The URI may have at most {_LONGEST_URI} characters.")
        if len(session.uris) >= _MOST_URIS and uri not in session.uris:
            raise InvalidParams(f"A session may watch at most {_MOST_URIS} resources at once.")
        reader = self._gateway.reader(session.client, uri)
        # Known before the backend answers: the session may end meanwhile.
        session.uris |= {uri}
        try:
            await self._gateway.watchers.join(session, uri, reader)
        except Failure:
            session.uris -= {uri}
            raise
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
        last = request.headers.get("last-event-id")
        place = session.place(last) if last else None
        if place is not None and place.trail is None:
            await self._forgotten(request, place.request)
        elif place is not None and place.trail is not None:
            await self._stream(request, session, place.trail, place.number)
        else:
            # A client that comes back with an id that nobody knows still wants to hear of changes.
            await self._stream(request, session, session.trail(None), 0)

    async def _stream(
        self, request: HttpRequest, session: Session, trail: Trail, after: int
    ) -> None:
        answer = StreamAnswer(request, self._keeper, session, trail, after)
        if trail.request is None:
            session.open(trail, digests(self._gateway.views.catalog_of(session)))
        self._keeper.add(answer)
        try:
            await answer.run()
        finally:
            self._keeper.remove(answer)
            trail.detach(answer)
            if trail.request is None and trail.reader is None:
                session.close(trail)

    async def _forgotten(self, request: HttpRequest, identity: bytes | None) -> None:
        """End the call of a client that comes back too late; without an end it would ask again and again."""
        answer = HttpAnswer(request, self._keeper)
        if identity is not None:
            failure = Failure("The result of this call is not kept any more.")
            await answer.event(jsonrpc.response(identity, failure.payload(), is_error=True))
        await answer.close()

    async def delete(self, request: HttpRequest) -> None:
        """End a session; raise a Failure."""
        self._gateway.sessions.end(self.session(request))
        await respond(request.send, 204, b"", (request.id_header,))
