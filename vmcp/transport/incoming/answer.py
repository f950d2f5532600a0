"""One answer on its way to a client: a single JSON body, or an event stream once there is more to say."""

from __future__ import annotations

from vmcp.gateway.deadline import Deadline
from vmcp.protocol import sse
from vmcp.transport.incoming.asgi import JSON, Headers, respond
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.request import HttpRequest

# A connection on which nothing is heard for so long may be cut by a balancer.
_SILENCE_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 15.0

_STREAM_HEADERS: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class HttpAnswer:
    """The answer to one POST or GET; kept by the Keeper while it is open."""

    __slots__ = (
        "_beating",
        "_ended",
        "_headers",
        "_is_shut",
        "_keeper",
        "_last",
        "_request",
        "_send",
        "_started",
        "deadline",
        "has_left",
    )

    def __init__(self, request: HttpRequest, keeper: Keeper) -> None:
        self._request = request
        self._send = request.send
        self._keeper = keeper
        self._last = keeper.now()
        self._started = False
        self._beating = False
        self._ended = False
        self._is_shut = False
        self._headers: tuple[tuple[bytes, bytes], ...] = ()
        self.has_left = False
        self.deadline = Deadline()

    @property
    def may_stream(self) -> bool:
        """Whether the client takes more than one message as the answer."""
        return self._request.accepted.stream

    @property
    def is_streaming(self) -> bool:
        """Whether the stream has begun."""
        return self._started

    async def event(self, message: bytes) -> None:
        """Send a message on the stream, which begins with the first one."""
        await self._chunk(sse.render(message))

    async def _chunk(self, chunk: bytes) -> None:
        if self._is_shut:
            # A question that is withdrawn while its call is cancelled may speak up after the end.
            return
        self._last = self._keeper.now()
        if not self._started:
            chunk = self._opening() + chunk
            await self._start()
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    def _opening(self) -> bytes:
        """Return what a stream begins with."""
        return b""

    async def _start(self) -> None:
        if not self._started:
            self._started = True
            headers = [*_STREAM_HEADERS, self._request.id_header, *self._headers]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def begin(self) -> None:
        """Begin the stream before there is a message."""
        await self._chunk(sse.COMMENT)

    async def finish(
        self, message: bytes, status: int = 200, *headers: tuple[bytes, bytes]
    ) -> None:
        """End the answer with its message, in a body of its own or at the end of the stream."""
        self._ended = True
        if self._started or not self._request.accepted.json:
            self._headers = headers
            await self._finish_stream(message)
        else:
            await respond(self._send, status, message, [JSON, self._request.id_header, *headers])

    async def _finish_stream(self, message: bytes) -> None:
        await self.event(message)
        await self.close()

    async def close(self) -> None:
        """End the answer without a message."""
        self._ended = self._is_shut = True
        await self._start()
        await self._send({"type": "http.response.body", "body": b""})

    def is_due(self, now: float) -> bool:
        """Tell whether it was silent for too long."""
        if self._beating or self._ended or self.has_left or not self._request.accepted.stream:
            return False
        return now - self._last >= (_KEEP_ALIVE_SECONDS if self._started else _SILENCE_SECONDS)

    async def beat(self) -> None:
        """Send a comment; a slow client gets one at a time, and none once the end is on its way."""
        if self._ended:
            return
        self._beating = True
        try:
            await self._chunk(sse.COMMENT)
        finally:
            self._beating = False

    async def watch(self) -> None:
        """Wait until the client has left or the answer is finished."""
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self.has_left = True
        self.left()

    def left(self) -> None:
        """Act on a client that has left; a finished answer is told so too."""
