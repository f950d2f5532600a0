"""A request that came on another way than HTTP, or with others: its answer is handed on message by message."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping

from vmcp.protocol.sse import Parser
from vmcp.transport.incoming import request
from vmcp.transport.incoming.asgi import JSON, Message
from vmcp.transport.incoming.limits import Accepted
from vmcp.transport.incoming.request import Guest, HttpRequest

Deliver = Callable[[bytes], Awaitable[None]]

ALL = Accepted(json=True, stream=True)


class Delivery:
    """The server's side of one request: what both eras write as HTTP is read back as the messages in it.

    So a session is served in one place, whichever way its messages travel. `left` is to be called when the
    client has gone.
    """

    __slots__ = ("_body", "_deliver", "_ended", "_parser", "session")

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._ended = asyncio.Event()
        self._body: list[bytes] = []
        self._parser: Parser | None = None
        self.session: str | None = None

    def request(
        self, method: str, headers: Mapping[str, str], guest: Guest, accepted: Accepted = ALL
    ) -> HttpRequest:
        """Return the request, a bare one: it has no headers that repeat its body."""
        return HttpRequest(
            request.number(),
            method,
            headers,
            accepted,
            self._receive,
            self._send,
            is_bare=True,
            view=guest.view,
            caller=guest.caller,
        )

    def left(self) -> None:
        """Tell whoever answers that nobody waits any more."""
        self._ended.set()

    async def _receive(self) -> Message:
        await self._ended.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begin(dict(message["headers"]))
            return
        chunk: bytes = message.get("body", b"")
        if self._parser is not None:
            for event in self._parser.feed(chunk):
                if event.data:
                    await self._deliver(event.data)
        else:
            self._body.append(chunk)
        if not message.get("more_body"):
            await self._end()

    def _begin(self, headers: Mapping[bytes, bytes]) -> None:
        if (identity := headers.get(b"mcp-session-id")) is not None:
            self.session = identity.decode()
        if headers.get(b"content-type") != JSON[1]:
            # What comes here was bounded when it was read from a backend.
            self._parser = Parser(sys.maxsize)

    async def _end(self) -> None:
        self._ended.set()
        if self._parser is None and (body := b"".join(self._body)):
            await self._deliver(body)
