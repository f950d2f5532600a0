"""Clients of the stateless era (2026-07-28): each POST says all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from vmcp.gateway.core import Gateway
from vmcp.gateway.deadline import CallCancelled
from vmcp.gateway.lists import DISCOVER_TTL_MS
from vmcp.gateway.watchers import digests
from vmcp.model.document import Document
from vmcp.model.identity import Caller
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc, ladder
from vmcp.protocol.call import Answer, Ask, Call, Client, Done, Note
from vmcp.protocol.declared import check_size
from vmcp.protocol.document import MalformedJson, quote, split, unquote
from vmcp.protocol.failures import STATELESS_STATUS, Failure, InvalidRequest, UnknownMethod
from vmcp.protocol.loglevels import wants
from vmcp.protocol.methods import (
    META_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_PROGRESS,
    META_SERVER_INFO,
    REMOVED,
    STATELESS_VERSION,
)
from vmcp.transport.incoming.answer import HttpAnswer
from vmcp.transport.incoming.asgi import respond
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.limits import Refused
from vmcp.transport.incoming.request import HttpRequest
from vmcp.transport.incoming.room import SMALL_BODY
from vmcp.transport.incoming.subscription import Subscription

_NOBODY = Answer(b'{"code":-32603,"message":"The client cannot be asked."}', is_error=True)
_LOG = "notifications/message"
_CALL_NOTES = frozenset((_LOG, "notifications/progress"))


class StatelessAnswer(HttpAnswer):
    """The answer to one request: a client that leaves has cancelled it."""

    __slots__ = ("_client",)

    def __init__(self, request: HttpRequest, keeper: Keeper, client: Client) -> None:
        super().__init__(request, keeper)
        self._client = client

    async def note(self, note: Note) -> None:
        """Send a notification of the kinds that belong on a call's stream."""
        if not self.may_stream or note.method not in _CALL_NOTES:
            return
        if note.method != _LOG or self._wants(note.params):
            await self.event(jsonrpc.notification(quote(note.method), note.params))

    def _wants(self, logged: bytes | None) -> bool:
        if self._client.log_level is None or logged is None:
            return False
        return wants(self._client, split(logged).get(b'"level"'))

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        """Answer for the client: in this era it can be asked nothing while its call goes on."""
        return tuple(_NOBODY for _ in ask.requests)

    def left(self) -> None:
        """Cancel the call."""
        self.deadline.cancel()


class StatelessEndpoint:
    """Serve requests that stand alone."""

    def __init__(self, gateway: Gateway, keeper: Keeper) -> None:
        self._gateway = gateway
        self._keeper = keeper
        self.subscriptions: set[Subscription] = set()
        self._own: Mapping[str, Callable[[HttpRequest, jsonrpc.Request], Awaitable[None]]] = {
            "server/discover": self._discover,
            "subscriptions/listen": self._listen,
        }

    async def post(
        self, request: HttpRequest, message: jsonrpc.Message, meta: Document | None
    ) -> None:
        """Serve one posted message; raise a Failure where it cannot be served."""
        if isinstance(message, jsonrpc.Response):
            raise InvalidRequest("In this revision clients post requests and notifications only.")
        if isinstance(message, jsonrpc.Notification):
            if not request.is_bare:
                ladder.check_notification(request.headers, message.method)
            await respond(request.send, 202, b"", (request.id_header,))
            return
        if request.is_bare:
            ladder.check_bare(meta)
        else:
            ladder.check(request.headers, message.method, message.params, meta)
        if message.method in REMOVED:
            raise UnknownMethod(f"Method not found: {message.method}")
        own = self._own.get(message.method)
        if own is not None:
            await own(request, message)
        elif meta is not None:
            await self._call(request, message, meta)

    async def _call(self, request: HttpRequest, message: jsonrpc.Request, meta: Document) -> None:
        client = _client(meta, request)
        answer = StatelessAnswer(request, self._keeper, client)
        token = meta.get(META_PROGRESS)
        about = client, message.method, message.params, meta, token, request.headers
        call = Call(*about, request.account)
        status: int | None = None
        self._keeper.add(answer)
        try:
            done = await self._gateway.dispatch.call(call, answer)
        except Failure as failure:
            self._gateway.failed(message.method, failure, request.id)
            done, status = Done(failure.payload(), is_error=True), failure.status
        except CallCancelled:
            return
        finally:
            self._keeper.remove(answer)
        if request.account is not None:
            request.account.ended(done.payload, is_error=done.is_error)
        if status is None:
            status = status_of(done) if done.is_error else 200
        await answer.finish(
            jsonrpc.response(message.id, done.payload, is_error=done.is_error), status
        )

    async def _discover(self, request: HttpRequest, message: jsonrpc.Request) -> None:
        client = Client(Era.STATELESS, STATELESS_VERSION, caller=request.caller, view=request.view)
        views = self._gateway.views
        self._gateway.pool.health.require(views.catalog_of(client).backends)
        result = (
            b'{"resultType":"complete","supportedVersions":[%b],%b,'
            b'"ttlMs":%d,"cacheScope":"public","_meta":{%b:%b}}'
        ) % (
            quote(STATELESS_VERSION),
            views.greeting_of(client, Era.STATELESS),
            DISCOVER_TTL_MS,
            META_SERVER_INFO,
            views.server_info_of(client),
        )
        answer = HttpAnswer(request, self._keeper)
        await answer.finish(jsonrpc.response(message.id, result, is_error=False))

    async def _listen(self, request: HttpRequest, message: jsonrpc.Request) -> None:
        if not request.accepted.stream:
            raise Refused(406, "A subscription is an event stream: send Accept: text/event-stream.")
        if request.place is not None and request.place.is_large:
            raise Refused(413, f"A subscription may have at most {SMALL_BODY} bytes.")
        subscription = Subscription(request, self._keeper, message, request.caller)
        if request.place is not None:
            # A stream that waits for news takes nothing of what calls need.
            request.place.leave()
        self.subscriptions.add(subscription)
        self._keeper.add(subscription)
        try:
            catalog = self._gateway.views.catalog_of(subscription)
            await subscription.run(self._gateway, digests(catalog))
        finally:
            self.subscriptions.discard(subscription)
            self._keeper.remove(subscription)

    def close_of(self, callers: frozenset[Caller]) -> None:
        """End the subscriptions of callers with their result."""
        for subscription in tuple(self.subscriptions):
            if subscription.caller in callers:
                subscription.outbox.close()

    def close(self) -> None:
        """End all subscriptions with their result."""
        for subscription in tuple(self.subscriptions):
            subscription.outbox.close()


def _client(meta: Document, request: HttpRequest) -> Client:
    level = meta.get(META_LOG_LEVEL)
    try:
        log_level = None if level is None else unquote(level)
    except MalformedJson:
        log_level = None
    declared, info = meta.get(META_CAPABILITIES) or b"{}", meta.get(META_CLIENT_INFO)
    check_size(declared, info)
    return Client(
        Era.STATELESS,
        STATELESS_VERSION,
        declared,
        info,
        request.caller,
        request.view,
        log_level=log_level,
    )


def status_of(done: Done) -> int:
    """Return the HTTP status of an answer that consists of an error alone."""
    return STATELESS_STATUS.get(jsonrpc.error_code(done.payload) or 0, 200)
