"""The older HTTP+SSE transport (2024-11-05): a GET opens the client's one stream, POSTs bring its messages."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from urllib.parse import parse_qs

from vmcp.model.identity import Caller
from vmcp.model.inventory import Era
from vmcp.model.view import WHOLE
from vmcp.protocol import jsonrpc
from vmcp.telemetry import metrics
from vmcp.telemetry.metrics import Reading
from vmcp.transport.incoming import limits
from vmcp.transport.incoming.answer import HttpAnswer
from vmcp.transport.incoming.asgi import Receive, Scope, Send, respond
from vmcp.transport.incoming.batch import is_array
from vmcp.transport.incoming.dialogue import Busy, Dialogue
from vmcp.transport.incoming.endpoint import Endpoint
from vmcp.transport.incoming.keeper import Keeper
from vmcp.transport.incoming.limits import Refused
from vmcp.transport.incoming.request import HttpRequest

_STREAM = "/sse"
_MESSAGES = "/messages"
_MOST_STREAMS = 20_000
_ID_BYTES = 24


def beside(path: str) -> str:
    """Return where the paths of this transport begin when the endpoint has a path."""
    return path.rpartition("/")[0]


class SseStream(HttpAnswer):
    """The stream of one client: the way back of all that it posts. It ends with the client, and the other way."""

    __slots__ = ("dialogue",)

    def __init__(self, request: HttpRequest, keeper: Keeper, endpoint: Endpoint) -> None:
        super().__init__(request, keeper)
        self.dialogue = Dialogue(endpoint, self.deliver, request.guest, Era.SESSIONED)

    async def run(self, address: str) -> None:
        """Tell where to post, and hold the stream until the session ends."""
        async with self.dialogue.going_on():
            await self._chunk(b"event: endpoint\ndata: " + address.encode() + b"\n\n")
            await self.dialogue.ended.wait()
            if not self.has_left:
                await self.dialogue.quiet()
        if not self.has_left:
            await self.close()

    async def deliver(self, message: bytes) -> None:
        """Send a message, unless nobody is there to read it."""
        if not self.has_left:
            await self.event(message)

    def left(self) -> None:
        """End with the client: nothing of this transport can be taken up again."""
        self.dialogue.ended.set()


class HttpSse:
    """An ASGI callable for both paths of the transport."""

    def __init__(self, endpoint: Endpoint, keeper: Keeper, base: str) -> None:
        self._endpoint = endpoint
        self._keeper = keeper
        self.stream_path = f"{base}{_STREAM}"
        self.messages_path = f"{base}{_MESSAGES}"
        self._streams: dict[str, SseStream] = {}
        endpoint.on_stop(self.stop)
        endpoint.on_expel(self.expel)
        endpoint.also_read(self.readings)

    def __len__(self) -> int:
        return len(self._streams)

    def readings(self) -> Iterator[Reading]:
        """Yield how many streams are open."""
        yield Reading(metrics.STREAMS, ("sse",), len(self))

    def stop(self) -> None:
        """End the streams as soon as the calls under way have been answered."""
        for stream in tuple(self._streams.values()):
            stream.dialogue.ended.set()

    def expel(self, callers: frozenset[Caller]) -> None:
        """End the streams of callers."""
        for stream in tuple(self._streams.values()):
            if stream.dialogue.guest.caller in callers:
                stream.dialogue.ended.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; whatever is wrong with it, it gets an answer."""
        query = parse_qs(scope["query_string"].decode("latin-1"))

        async def serve(http: HttpRequest) -> None:
            if scope["path"] == self.stream_path:
                await self._get(http)
            else:
                await self._post(http, query.get("sessionId", [""])[0])

        await self._endpoint.guarded(scope, receive, send, WHOLE, serve)

    async def _get(self, http: HttpRequest) -> None:
        if http.method != "GET":
            raise Refused(405, "A GET opens the stream.", (b"allow", b"GET"))
        if not http.accepted.stream:
            raise Refused(406, "A GET opens an event stream: send Accept: text/event-stream.")
        self._endpoint.check_open()
        if len(self._streams) >= _MOST_STREAMS:
            raise Refused(503, "Too many streams are open.", (b"retry-after", b"1"))
        identity = secrets.token_urlsafe(_ID_BYTES)
        stream = self._streams[identity] = SseStream(http, self._keeper, self._endpoint)
        self._keeper.add(stream)
        try:
            await stream.run(f"{http.arrival.prefix}{self.messages_path}?sessionId={identity}")
        finally:
            self._keeper.remove(stream)
            del self._streams[identity]

    async def _post(self, http: HttpRequest, identity: str) -> None:
        if http.method != "POST":
            raise Refused(405, "Messages are sent with POST.", (b"allow", b"POST"))
        if not limits.is_json(http.headers.get("content-type")):
            raise Refused(415, "Send the message as Content-Type: application/json.")
        stream = self._streams.get(identity)
        if stream is None or stream.dialogue.guest.caller != http.caller:
            raise Refused(404, "This session is unknown or has ended: open a new stream.")
        await self._take(http, stream)
        await respond(http.send, 202, b"Accepted", (http.id_header,))

    async def _take(self, http: HttpRequest, stream: SseStream) -> None:
        """Begin to serve a message, which has a place among all until it is served; raise what forbids it."""
        place = self._endpoint.enter(http)
        try:
            body = await limits.body(http.receive, http.headers)
            place.hold(len(body))
            if not is_array(body):
                # What is no message is told to its sender with this answer, not on the stream.
                jsonrpc.read(body)
            work = await stream.dialogue.take(body)
        except Busy:
            place.leave()
            message = "Too many messages of this session are under way."
            raise Refused(503, message, (b"retry-after", b"1")) from None
        except BaseException:
            place.leave()
            raise
        if work is None:
            place.leave()
        else:
            work.add_done_callback(lambda _: place.leave())
