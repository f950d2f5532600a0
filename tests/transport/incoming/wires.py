"""A request whose answer is kept, for tests of what is sent and when."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tests.support.waiting import Journal
from vmcp.transport.incoming.asgi import Message
from vmcp.transport.incoming.limits import accepted
from vmcp.transport.incoming.request import HttpRequest


class Wire:
    """The server's side of one request: it refuses what a server refuses.

    `hold()` lets sending wait, as for a client that does not read; `leave()` is the client's end.
    """

    def __init__(self) -> None:
        self.sent: Journal[Message] = Journal()
        self._free = asyncio.Event()
        self._free.set()
        self._left = asyncio.Event()
        self._is_begun = False
        self._is_complete = False

    def request(self, accept: str | None = None) -> HttpRequest:
        """Return the request."""
        return HttpRequest("id-1", "POST", {}, accepted(accept), self.receive, self.send)

    def hold(self) -> None:
        """Take nothing for now."""
        self._free.clear()

    def release(self) -> None:
        """Take what waits, and all that comes."""
        self._free.set()

    def leave(self) -> None:
        """Let the client leave."""
        self._left.set()

    async def send(self, message: Message) -> None:
        """Take a message in the order of ASGI."""
        await self._free.wait()
        if message["type"] == "http.response.start":
            assert not self._is_begun, "the response begins twice"
            self._is_begun = True
        else:
            assert self._is_begun, "the body comes before the head"
            assert not self._is_complete, "more comes after the end"
            self._is_complete = not message.get("more_body")
        self.sent.add(message)
        if self._is_complete:
            self._left.set()

    async def receive(self) -> Message:
        """Return once the client has left or the answer is whole."""
        await self._left.wait()
        return {"type": "http.disconnect"}

    @property
    def status(self) -> int:
        """The status of the answer."""
        status: int = self.sent.all[0]["status"]
        return status

    @property
    def headers(self) -> Mapping[bytes, bytes]:
        """The headers of the answer."""
        return dict(self.sent.all[0]["headers"])

    @property
    def body(self) -> bytes:
        """The body so far."""
        return b"".join(message["body"] for message in self.sent.all[1:])
