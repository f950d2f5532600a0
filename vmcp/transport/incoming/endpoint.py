"""The one MCP endpoint: read a request, tell its era, and hand it to whoever serves that era."""

from __future__ import annotations

import logging

from vmcp.gateway.core import Gateway
from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.document import MalformedJson, split
from vmcp.protocol.era import era_of
from vmcp.protocol.failures import Failure, InvalidParams
from vmcp.protocol.methods import SESSIONED_VERSIONS
from vmcp.transport.incoming import limits, request
from vmcp.transport.incoming.asgi import JSON, Receive, Scope, Send, refuse, respond
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.limits import ClientLeft, Doors, Refused
from vmcp.transport.incoming.request import HttpRequest
from vmcp.transport.incoming.sessioned import SessionedEndpoint
from vmcp.transport.incoming.stateless import StatelessEndpoint

log = logging.getLogger(__name__)


class Endpoint:
    """An ASGI callable for the MCP path."""

    def __init__(self, gateway: Gateway, doors: Doors, keeper: Keeper) -> None:
        self._doors = doors
        self._gateway = gateway
        self._sessioned = SessionedEndpoint(gateway, keeper)
        self._stateless = StatelessEndpoint(gateway, keeper)
        self._is_stopping = False

    def stop(self) -> None:
        """Take no new requests, and end the streams; calls under way go on."""
        self._is_stopping = True
        self._stateless.close()
        self._gateway.sessions.close_streams()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; whatever is wrong with it, it gets an answer."""
        try:
            http = request.read(scope, receive, send)
            self._doors.check(http.headers)
            if self._is_stopping:
                raise Refused(503, "The gateway is about to stop.", (b"retry-after", b"1"))
            if http.method == "POST":
                await self._post(http)
            else:
                await self._other(http)
        except Refused as refused:
            await refuse(send, refused.status, refused.message, *refused.headers)
        except Failure as failure:
            await _fail(send, None, failure)
        except ClientLeft:
            return

    async def _post(self, http: HttpRequest) -> None:
        if not limits.is_json(http.headers.get("content-type")):
            raise Refused(415, "Send the message as Content-Type: application/json.")
        if not (http.accepted.json or http.accepted.stream):
            raise Refused(406, "Send Accept: application/json, text/event-stream.")
        body = await limits.body(http.receive, http.headers)
        message = jsonrpc.read(body)
        try:
            await self._serve(http, message)
        except Failure as failure:
            await _fail(http.send, message.id if isinstance(message, jsonrpc.Request) else None, failure)

    async def _serve(self, http: HttpRequest, message: jsonrpc.Message) -> None:
        version = http.headers.get("mcp-protocol-version")
        if isinstance(message, jsonrpc.Response):
            meta, method = None, None
        else:
            meta, method = _meta(message.params), message.method
        if era_of(version, method, meta) is Era.STATELESS:
            await self._stateless.post(http, message, meta)
        else:
            await self._sessioned.post(http, message, meta)

    async def _other(self, http: HttpRequest) -> None:
        version = http.headers.get("mcp-protocol-version")
        if http.method not in ("GET", "DELETE") or version not in (None, *SESSIONED_VERSIONS):
            allowed = b"POST" if version not in (None, *SESSIONED_VERSIONS) else b"GET, POST, DELETE"
            raise Refused(405, "This method is not served here.", (b"allow", allowed))
        if http.method == "GET":
            await self._sessioned.get(http)
        else:
            await self._sessioned.delete(http)


def _meta(params: Document) -> Document | None:
    raw = params.get(b'"_meta"')
    if raw is None:
        return None
    try:
        return split(raw)
    except MalformedJson:
        raise InvalidParams('The member "_meta" must be an object.') from None


async def _fail(send: Send, identity: bytes | None, failure: Failure) -> None:
    """Answer a request that was not served with a JSON-RPC error of its own HTTP status."""
    status = failure.status or 200
    await respond(send, status, jsonrpc.response(identity, failure.payload(), is_error=True), [JSON])
