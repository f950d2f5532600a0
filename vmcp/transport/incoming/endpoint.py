"""The one MCP endpoint: read a request, tell its era, and hand it to whoever serves that era."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from vmcp.auth.incoming import CHALLENGE, Unauthenticated, authenticate
from vmcp.auth.refusals import Refusals
from vmcp.gateway.core import Gateway, Gauge
from vmcp.latest import Latest
from vmcp.model.document import Document
from vmcp.model.identity import Caller
from vmcp.model.inventory import Era
from vmcp.model.view import WHOLE, View
from vmcp.protocol import jsonrpc
from vmcp.protocol.document import MalformedJson, split
from vmcp.protocol.era import era_of
from vmcp.protocol.failures import (
    STATELESS_STATUS,
    Failure,
    InvalidParams,
    InvalidRequest,
    SessionUnknown,
    Stopping,
)
from vmcp.protocol.methods import SESSIONED_VERSIONS
from vmcp.telemetry import metrics
from vmcp.telemetry.metrics import Reading
from vmcp.transport.incoming import accounting, cors, limits, request
from vmcp.transport.incoming.asgi import JSON, Receive, Scope, Send, refuse, respond
from vmcp.transport.incoming.batch import VERSION, Batch, is_array
from vmcp.transport.incoming.entrance import Entrance, Expel
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.limits import ClientLeft, Refused
from vmcp.transport.incoming.request import Guest, HttpRequest
from vmcp.transport.incoming.room import Place, Room
from vmcp.transport.incoming.sessioned import SessionedEndpoint
from vmcp.transport.incoming.stateless import StatelessEndpoint

log = logging.getLogger(__name__)

Serve = Callable[[HttpRequest], Awaitable[None]]

_UNAUTHORIZED = 401
# The first digit of a status that says that the fault is not the client's.
_OURS = 5
_MOST_HOPS = 16
# Where the body is not read; clients take no error for theirs that has no id at all.
_NO_ID = b"null"
_NO_VIEW = "No backend or view has the name in this path: see /status, or leave the name out for all of them."


class Endpoint:
    """An ASGI callable for the MCP path."""

    def __init__(self, gateway: Gateway, entrance: Latest[Entrance], keeper: Keeper) -> None:
        self._entrance = entrance
        self._refusals = Refusals(keeper.now)
        self._gateway = gateway
        self._keeper = keeper
        self._sessioned = SessionedEndpoint(gateway, keeper)
        self._stateless = StatelessEndpoint(gateway, keeper)
        self._room = Room()
        self._is_stopping = False
        self._others: list[Callable[[], None]] = []
        self._expelling: list[Expel] = []
        gateway.gauges.append(self.readings)

    def readings(self) -> Iterator[Reading]:
        """Yield how many requests are open, and which of them are streams."""
        yield Reading(metrics.REQUESTS_OPEN, (), len(self._keeper))
        subscriptions = len(self._stateless.subscriptions)
        yield Reading(metrics.STREAMS, ("subscription",), subscriptions)

    def also_read(self, gauge: Gauge) -> None:
        """Have something read as well when somebody asks for metrics."""
        self._gateway.gauges.append(gauge)

    def on_stop(self, act: Callable[[], None]) -> None:
        """Have something done as well when the streams are ended."""
        self._others.append(act)

    def stop(self) -> None:
        """Take no new requests, and end the streams; calls under way go on."""
        self._is_stopping = True
        self._stateless.close()
        self._gateway.sessions.close_streams()
        for act in self._others:
            act()

    def cut_off(self) -> None:
        """End the calls under way, whose clients are told that we stop."""
        self._keeper.end_all(Stopping())

    def on_expel(self, act: Expel) -> None:
        """Have something done as well when callers may not come in any more."""
        self._expelling.append(act)

    def expel(self, callers: frozenset[Caller]) -> None:
        """End the sessions and streams of callers; other calls under way go on."""
        self._gateway.sessions.end_of(callers)
        self._stateless.close_of(callers)
        for act in self._expelling:
            act(callers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request to the whole; whatever is wrong with it, it gets an answer."""
        await self.guarded(scope, receive, send, WHOLE, self._serve)

    async def part(self, view: View | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request to a part of the whole; None stands for a path at which none can be."""

        async def serve(http: HttpRequest) -> None:
            if view is None or not await self._gateway.views.open(view):
                # While nobody is served no name is known, and the sessions of clients are not lost for that.
                self._check_served()
                raise Refused(404, _NO_VIEW)
            # A view may have been waited for, and the key have been withdrawn meanwhile.
            self._authenticate(http)
            await self._serve(http)

        await self.guarded(scope, receive, send, view or WHOLE, serve)

    async def guarded(
        self, scope: Scope, receive: Receive, send: Send, view: View, serve: Serve
    ) -> None:
        """Have a request served that may come in, and answer one that may not or that cannot be served."""
        http = request.read(scope, receive, send, view)
        if self._gateway.accounts.is_logged:
            accounting.begin(http)
        try:
            if await self._is_admitted(scope, http):
                await serve(http)
        except Refused as refused:
            self._gateway.refused[refused.status] += 1
            await _refuse(http, refused)
        except Unauthenticated:
            await self._challenge(http)
        except Failure as failure:
            self._gateway.refused[failure.code] += 1
            await _fail(http, _NO_ID, failure, Era.SESSIONED)
        except ClientLeft:
            return
        finally:
            if http.account is not None:
                accounting.close(http, http.account, self._gateway.accounts)

    async def _is_admitted(self, scope: Scope, http: HttpRequest) -> bool:
        """Find out where a request comes from and who calls; False where a browser's question was all.

        Raise Refused or Unauthenticated.
        """
        entrance = self._entrance.value
        http.arrival = entrance.proxies.arrival(scope, http.headers)
        origin = http.headers.get("origin")
        entrance.doors.check_call(http.arrival.host, origin)
        if origin is not None:
            http.send = cors.exposing(http.send, origin)
            if cors.is_preflight(http):
                await cors.answer(http, entrance.passed)
                return False
        if http.fault is not None:
            raise http.fault
        self._check_loop(http)
        self._authenticate(http)
        return True

    def _authenticate(self, http: HttpRequest) -> None:
        http.caller = authenticate(self._entrance.value.auth, http.headers)

    async def _challenge(self, http: HttpRequest) -> None:
        self._gateway.refused[_UNAUTHORIZED] += 1
        self._refusals.add(http.arrival.address)
        failure = InvalidRequest(
            "A valid API key is needed: send Authorization: Bearer KEY, or X-API-Key: KEY."
        )
        body = jsonrpc.response(_NO_ID, failure.payload(), is_error=True)
        headers = [JSON, http.id_header, (b"www-authenticate", CHALLENGE.encode())]
        if not limits.is_bounded(http.headers):
            # Whoever is not known may not keep us busy with what nobody reads.
            headers.append(limits.CLOSE)
        await respond(http.send, _UNAUTHORIZED, body, headers)

    def _check_loop(self, http: HttpRequest) -> None:
        via = http.headers.get("via")
        if via is None:
            return
        if self._gateway.pseudonym in via:
            raise Refused(508, "This request comes from the gateway that it leads to.")
        # Replicas do not know each other: a circle through several of them ends by its length.
        if via.count(",") >= _MOST_HOPS:
            raise Refused(508, f"This request came through more than {_MOST_HOPS} others.")

    async def _serve(self, http: HttpRequest) -> None:
        if http.method == "POST":
            await self._post(http)
        else:
            await self._other(http)

    async def _post(self, http: HttpRequest) -> None:
        if not limits.is_json(http.headers.get("content-type")):
            raise Refused(415, "Send the message as Content-Type: application/json.")
        if not (http.accepted.json or http.accepted.stream):
            raise Refused(406, "Send Accept: application/json, text/event-stream.")
        met, place = self._entrance.value, self.enter(http)
        try:
            body = await limits.body(http.receive, http.headers)
            place.hold(len(body))
            if self._entrance.value is not met:
                # A key that was withdrawn while the body came must not open a stream.
                self._authenticate(http)
            await self.take(http, body)
        finally:
            place.leave()

    def enter(self, http: HttpRequest) -> Place:
        """Give a request its place among all, before its body is read; raise Refused where there is none."""
        most = self._entrance.value.most_requests
        http.place = self._room.enter(most, http.headers.get("content-length", ""))
        return http.place

    async def take(self, http: HttpRequest, body: bytes, fixed: Era | None = None) -> None:
        """Serve what was posted, in the era that it tells or in a fixed one; raise Refused."""
        version = http.headers.get("mcp-protocol-version")
        era = fixed or era_of(version, None, None)
        try:
            if is_array(body) and era is Era.SESSIONED and self._takes_arrays(http):
                await Batch(http, self._keeper).run(body, self._sessioned_one)
                return
            message = jsonrpc.read(body)
            meta, method = _told(message)
            era = fixed or era_of(version, method, meta)
            await self._one(http, message, meta, era)
        except Failure as failure:
            self._gateway.refused[failure.code] += 1
            await _fail(http, jsonrpc.identity(body), failure, era)

    def _takes_arrays(self, http: HttpRequest) -> bool:
        """Tell whether a request belongs to a session in which arrays may be sent."""
        if "mcp-session-id" not in http.headers:
            return False
        return self._sessioned.session(http).client.version == VERSION

    async def _sessioned_one(self, http: HttpRequest, body: bytes) -> None:
        message = jsonrpc.read(body)
        meta, _ = _told(message)
        await self._one(http, message, meta, Era.SESSIONED)

    async def _one(
        self, http: HttpRequest, message: jsonrpc.Message, meta: Document | None, era: Era
    ) -> None:
        if isinstance(message, jsonrpc.Request):
            self.check_open()
        if self._gateway.accounts.is_on:
            await self._noted(http, message, meta, era)
        else:
            await self._answered(http, message, meta, era)

    async def _noted(
        self, http: HttpRequest, message: jsonrpc.Message, meta: Document | None, era: Era
    ) -> None:
        accounts = self._gateway.accounts
        tracer = accounts.tracer
        trace = None if tracer is None else accounting.traced(http, tracer, message, meta)
        if trace is None and not accounts.is_logged:
            await self._answered(http, message, meta, era)
            return
        with accounting.noting(http, accounts, trace, message, meta, era):
            await self._answered(http, message, meta, era)

    async def _answered(
        self, http: HttpRequest, message: jsonrpc.Message, meta: Document | None, era: Era
    ) -> None:
        if era is Era.STATELESS:
            await self._stateless.post(http, message, meta)
        else:
            await self._sessioned.post(http, message, meta)

    async def listen(self, http: HttpRequest) -> None:
        """Serve the stream of a session until it ends; raise Refused or a Failure."""
        self.check_open()
        await self._sessioned.get(http)

    def leave(self, identity: str, guest: Guest) -> None:
        """End a session whose only way to its client is lost."""
        with suppress(SessionUnknown):
            sessions = self._gateway.sessions
            sessions.end(sessions.find(identity, guest.caller, guest.view))

    def check_open(self) -> None:
        """Raise Refused for what would begin now; answers and cancellations are for calls that are under way."""
        if self._is_stopping:
            raise Refused(503, "The gateway is about to stop.", (b"retry-after", b"1"))
        self._check_served()

    def _check_served(self) -> None:
        closed = self._gateway.registry.snapshot.value.closed
        if closed is not None:
            # A protection that was asked for and that there is not: nobody is served without it.
            raise Refused(503, f"{closed.reason}: {closed.message}", (b"retry-after", b"10"))

    async def _other(self, http: HttpRequest) -> None:
        version = http.headers.get("mcp-protocol-version")
        if http.method not in ("GET", "DELETE") or version not in (None, *SESSIONED_VERSIONS):
            allowed = (
                b"POST" if version not in (None, *SESSIONED_VERSIONS) else b"GET, POST, DELETE"
            )
            raise Refused(405, "This method is not served here.", (b"allow", allowed))
        if http.method == "GET":
            await self.listen(http)
        else:
            await self._sessioned.delete(http)


def _told(message: jsonrpc.Message) -> tuple[Document | None, str | None]:
    """Return the members of `params._meta` and the method of a message, as far as it has them."""
    if isinstance(message, jsonrpc.Response):
        return None, None
    raw = message.params.get(b'"_meta"')
    if raw is None or raw == b"null":
        return None, message.method
    try:
        return split(raw), message.method
    except MalformedJson:
        raise InvalidParams('The member "_meta" must be an object.') from None


async def _refuse(http: HttpRequest, refused: Refused) -> None:
    """Say what is wrong; who posts what may not be served gets an error that its client can show."""
    more = (http.id_header, *refused.headers)
    if http.method != "POST" or refused.status // 100 == _OURS:
        await refuse(http.send, refused.status, refused.message, *more)
        return
    body = jsonrpc.response(_NO_ID, InvalidRequest(refused.message).payload(), is_error=True)
    await respond(http.send, refused.status, body, [JSON, *more])


async def _fail(http: HttpRequest, identity: bytes | None, failure: Failure, era: Era) -> None:
    """Answer a request that was not served with a JSON-RPC error and the HTTP status of its era."""
    if http.account is not None:
        http.account.code = failure.code
    status = failure.status
    if status is None:
        status = STATELESS_STATUS.get(failure.code, 200) if era is Era.STATELESS else 200
    body = jsonrpc.response(identity, failure.payload(), is_error=True)
    await respond(http.send, status, body, [JSON, http.id_header])
