"""JSON-RPC arrays, which only the revision 2025-03-26 knows: each message is served, the answers are one array."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from vmcp.protocol import jsonrpc
from vmcp.protocol.document import MalformedJson, split_array
from vmcp.protocol.failures import Failure, InvalidRequest
from vmcp.transport.incoming.answer import HttpAnswer
from vmcp.transport.incoming.asgi import respond
from vmcp.transport.incoming.delivery import Delivery
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.limits import Accepted, Refused
from vmcp.transport.incoming.request import HttpRequest

VERSION = "2025-03-26"
_MOST_MESSAGES = 100

Serve = Callable[[HttpRequest, bytes], Awaitable[None]]


def is_array(body: bytes) -> bool:
    """Tell whether a body is an array, as far as its beginning tells."""
    return body[:1] != b"{" and body.lstrip()[:1] == b"["


class Batch(HttpAnswer):
    """The answer to one array: what comes before the responses makes a stream of it, and they end it."""

    __slots__ = ("_responses",)

    def __init__(self, request: HttpRequest, keeper: Keeper) -> None:
        super().__init__(request, keeper)
        self._responses: list[bytes] = []

    async def run(self, body: bytes, serve: Serve) -> None:
        """Serve all messages at once; raise InvalidRequest where the array may not be served at all."""
        items = _items(body)
        self._keeper.add(self)
        try:
            await self._serve(items, serve)
        finally:
            self._keeper.remove(self)
        if self._responses:
            await self.finish(b"[" + b",".join(self._responses) + b"]")
        elif self.is_streaming or any(jsonrpc.identity(item) is not None for item in items):
            # All that was asked has been cancelled.
            await self.close()
        else:
            await respond(self._request.send, 202, b"", (self._request.id_header,))

    async def _serve(self, items: tuple[bytes, ...], serve: Serve) -> None:
        async with asyncio.TaskGroup() as tasks:
            for item in items:
                tasks.create_task(self._each(item, serve))

    async def _each(self, item: bytes, serve: Serve) -> None:
        delivery = Delivery(self._take)
        accepted = Accepted(json=True, stream=self.may_stream)
        try:
            # Bare: its answer is no stream of its own that a client could come back to.
            whole = self._request
            await serve(delivery.request("POST", whole.headers, whole.guest, accepted), item)
        except Failure as failure:
            self._refuse(item, failure)
        except Refused as refused:
            self._refuse(item, Failure(refused.message))
        finally:
            delivery.left()

    def _refuse(self, item: bytes, failure: Failure) -> None:
        identity = jsonrpc.identity(item)
        self._responses.append(jsonrpc.response(identity, failure.payload(), is_error=True))

    async def _take(self, message: bytes) -> None:
        if isinstance(jsonrpc.read_peer(message), jsonrpc.Response):
            self._responses.append(message)
        elif not self.has_left:
            await self.event(message)


def _items(body: bytes) -> tuple[bytes, ...]:
    try:
        items = tuple(split_array(body))
    except MalformedJson as malformed:
        raise InvalidRequest(f"The body is no JSON array: {malformed}.") from None
    if not items:
        raise InvalidRequest("The array holds no message.")
    if len(items) > _MOST_MESSAGES:
        raise InvalidRequest(f"An array may hold at most {_MOST_MESSAGES} messages.")
    if any(_is_initialize(item) for item in items):
        raise InvalidRequest("The request initialize must come alone.")
    return items


def _is_initialize(item: bytes) -> bool:
    try:
        message = jsonrpc.read(item)
    except Failure:
        return False
    return isinstance(message, jsonrpc.Request) and message.method == "initialize"
