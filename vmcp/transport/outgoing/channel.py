"""Many requests over the pipes of one process: what comes back is brought to the request that it concerns."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Call
from vmcp.protocol.declared import may_be_asked
from vmcp.protocol.document import MalformedJson, split
from vmcp.protocol.failures import BackendFailed, Failure
from vmcp.protocol.lines import Overlong, answered_id
from vmcp.protocol.loglevels import wants
from vmcp.protocol.methods import ASKS, META_SUBSCRIPTION
from vmcp.transport.outgoing import answers, compose, relay
from vmcp.transport.outgoing.identity import OUR_INFO, Ids
from vmcp.transport.outgoing.noise import Noise
from vmcp.transport.outgoing.process import LINE_LIMIT
from vmcp.transport.outgoing.speech import BackendGone, Hear

log = logging.getLogger(__name__)

CANCELLED = "notifications/cancelled"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_LOGGED = "notifications/message"
_LISTEN = "subscriptions/listen"
_TOLD_UNASKED = frozenset(
    (
        ACKNOWLEDGED,
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/tasks",
        "notifications/tasks/status",
    )
)
# A client that is slow to take its notes must not fill the memory: what does not fit is left out.
_MOST_WAITING = 256
_MOST_WAITING_BYTES = LINE_LIMIT


class Pipe(Protocol):
    """The way in to the process."""

    async def writable(self) -> None:
        """Wait until it takes more, or is lost."""
        ...

    def write(self, line: bytes) -> None:
        """Write a message; first wait until it is `writable`."""
        ...

    def offer(self, line: bytes) -> None:
        """Write a message as soon as it is taken, if that is soon enough."""
        ...


class Exchange:
    """One request in flight. Iterating gives what comes for it; what is left after a loss is given first."""

    def __init__(self, identity: bytes, call: Call | None) -> None:
        self.identity = identity
        self.call = call
        self.asked: set[bytes] = set()
        # What still sends the request, where that takes longer than to hand it over.
        self.posting: asyncio.Task[None] | None = None
        self._messages: deque[tuple[jsonrpc.Message, int]] = deque()
        self._bytes = 0
        self._more = asyncio.Event()
        self._failure: BackendFailed | None = None
        self._is_closed = False

    @property
    def is_call(self) -> bool:
        """Whether a client waits for it to end; a subscription only listens."""
        return self.call is not None and self.call.method != _LISTEN

    def put(self, message: jsonrpc.Message, size: int) -> bool:
        """Hand a message over; False where too many wait, which a response never does."""
        is_full = len(self._messages) >= _MOST_WAITING or self._bytes + size > _MOST_WAITING_BYTES
        if is_full and self._messages and not isinstance(message, jsonrpc.Response):
            return False
        self._messages.append((message, size))
        self._bytes += size
        self._more.set()
        return True

    def fail(self, failure: BackendFailed) -> None:
        """Let the iteration end with a failure."""
        self._failure = self._failure or failure
        self._more.set()

    def close(self) -> None:
        """Let the iteration end, because something else is wanted now."""
        self._is_closed = True
        self._more.set()

    def __aiter__(self) -> Exchange:
        """Return itself."""
        return self

    async def __anext__(self) -> jsonrpc.Message:
        """Return the next message; raise BackendFailed."""
        while not self._messages:
            if self._failure is not None:
                raise self._failure
            if self._is_closed:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        message, size = self._messages.popleft()
        self._bytes -= size
        return message

    async def response(self) -> jsonrpc.Response:
        """Return the response, whatever comes before it; raise BackendFailed."""
        while not isinstance(message := await anext(self), jsonrpc.Response):
            continue
        return message

    def may_be_asked(self, asked: jsonrpc.Request) -> bool:
        """Tell whether the client of this call declared what a request of the server needs."""
        if self.call is None:
            return False
        params = jsonrpc.params_json(asked.params)
        return may_be_asked(self.call.client.capabilities, asked.method, params)


class Channel:
    """Route messages between the requests in flight and the process. `pipe` is set before anything is sent.

    A message that names no request goes to the one call in flight, and to nobody where there are more: the
    process serves all clients, and a guess would show one what is another's.
    """

    def __init__(self, name: str, ids: Ids) -> None:
        self.name = name
        self.pipe: Pipe | None = None
        # The stateless era knows no requests of servers, and no answers to them.
        self.answers_requests = False
        self.hear: Hear = _ignore
        self._ids = ids
        self._open: dict[bytes, Exchange] = {}
        self._noise = Noise(name)
        self._why: str | None = None
        self._gone = asyncio.Event()

    async def send(self, message: bytes) -> None:
        """Send a message as soon as the process takes it; raise BackendFailed."""
        if self.pipe is not None:
            await self.pipe.writable()
        if self.pipe is None or self._why is not None:
            raise self._lost("ConnectionLost")
        self.pipe.write(message)

    async def begin(self, exchange: Exchange, message: bytes) -> None:  # noqa: ARG002
        """Send the request of an exchange; raise BackendFailed."""
        await self.send(message)

    def _offer(self, message: bytes) -> None:
        if self.pipe is not None and self._why is None:
            self.pipe.offer(message)

    def _lost(self, reason: str) -> BackendFailed:
        return BackendFailed(self.name, reason, self._reason())

    def _reason(self) -> str:
        return f"{self._why or 'its process is not running'}."

    def cancel(self, identity: bytes) -> None:
        """Tell the process that the answer to a request is not wanted any more."""
        self._offer(
            jsonrpc.notification(b'"notifications/cancelled"', b'{"requestId":' + identity + b"}")
        )

    @asynccontextmanager
    async def exchange(
        self, body: Callable[[bytes], bytes], call: Call | None = None
    ) -> AsyncIterator[Exchange]:
        """Send what `body` writes for an id, and give what comes back; a cancelled block cancels it."""
        identity = self._ids.next()
        exchange = Exchange(identity, call)
        self._open[identity] = exchange
        try:
            await self.begin(exchange, body(identity))
            try:
                yield exchange
            except asyncio.CancelledError:
                self.cancel(identity)
                raise
        finally:
            del self._open[identity]
            if exchange.posting is not None:
                exchange.posting.cancel()

    async def ask(self, method: str, params: Document, era: Era, seconds: float | None) -> Document:
        """Put a request of our own and return its result; raise Refused or BackendFailed."""

        def body(identity: bytes) -> bytes:
            return compose.own_request(method, identity, params, era, OUR_INFO)

        try:
            async with asyncio.timeout(seconds), self.exchange(body) as exchange:
                found = await exchange.response()
        except TimeoutError:
            raise BackendFailed(self.name, "TimedOut", f"no answer to {method} in time.") from None
        return answers.result(found, self.name)

    async def until_lost(self, seconds: float | None = None) -> None:
        """Raise BackendFailed once the process is lost; return if it is not within `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._gone.wait()
        except TimeoutError:
            return
        raise BackendGone(self.name, "ConnectionLost", self._reason())

    def lost(self, why: str) -> None:
        """Take note, once, that nothing more comes: whatever is in flight fails."""
        self._why = why
        for exchange in self._open.values():
            exchange.fail(self._lost("ConnectionLost"))
        self._gone.set()
        self._noise.close()

    def heard_overlong(self, line: Overlong) -> None:
        """Let the request fail whose answer was too long, as far as the line tells which one that is."""
        identity = answered_id(line.head, line.tail)
        self._fail(identity, "TooLarge", f"its answer has a line of more than {LINE_LIMIT} bytes.")
        log.warning("backend wrote a line that is too long", extra={"backend": self.name})

    def _fail(self, identity: bytes | None, reason: str, message: str) -> None:
        exchange = self._open.get(identity) if identity is not None else None
        if exchange is not None:
            exchange.fail(BackendFailed(self.name, reason, message))

    def heard(self, line: bytes) -> None:
        """Bring a line to whom it concerns; an array is as many lines."""
        if (items := answers.items(line)) is not None:
            for item in items:
                self._heard(item)
        else:
            self._heard(line)

    def _heard(self, line: bytes) -> None:
        try:
            message = jsonrpc.read_peer(line)
        except Failure:
            self._noise.heard(line)
            self._fail(answered_id(line, line[-1024:]), "InvalidAnswer", "its answer is malformed.")
            return
        if isinstance(message, jsonrpc.Response):
            self._answered(message, line)
        elif b'"jsonrpc"' not in line:
            self._noise.heard(line)
        elif isinstance(message, jsonrpc.Notification):
            self._notified(message, len(line))
        elif self.answers_requests:
            self._requested(message, len(line))

    def _answered(self, message: jsonrpc.Response, line: bytes) -> None:
        exchange = self._open.get(message.id) if message.id is not None else None
        if exchange is not None:
            exchange.put(message, len(line))
        elif b'"jsonrpc"' not in line:
            self._noise.heard(line)
        elif message.id is None and message.is_error and len(self._open) == 1:
            # A server that could not read whose request it was.
            (exchange,) = self._open.values()
            exchange.put(message, len(line))

    def _notified(self, message: jsonrpc.Notification, size: int) -> None:
        method, params = message.method, message.params
        exchange: Exchange | None
        if method == answers.PROGRESS:
            exchange = self._open.get(params.get(b'"progressToken"') or b"")
        elif method == CANCELLED:
            exchange = self._concerned(params.get(b'"requestId"') or b"")
        elif method in _TOLD_UNASKED:
            exchange = self._open.get(_subscription(params))
            if exchange is None or exchange.is_call:
                self.hear(message)
                return
        else:
            exchange = self._reader(message)
        if exchange is None or not exchange.put(message, size):
            self._noise.left_out(method)

    def _concerned(self, identity: bytes) -> Exchange | None:
        """Return what a server cancels: a subscription, or the call that its own request was put to."""
        for exchange in self._open.values():
            if identity in exchange.asked:
                return exchange
        found = self._open.get(identity)
        return found if found is not None and found.call is None else None

    def _calls(self) -> list[Exchange]:
        return [exchange for exchange in self._open.values() if exchange.is_call]

    def _reader(self, message: jsonrpc.Notification) -> Exchange | None:
        """Return the call that a notification without an address is for."""
        calls = self._calls()
        if len(calls) != 1 or not message.method.startswith("notifications/"):
            return None
        call = calls[0].call
        if call is not None and message.method == _LOGGED:
            return calls[0] if wants(call.client, message.params.get(b'"level"')) else None
        return calls[0]

    def _requested(self, message: jsonrpc.Request, size: int) -> None:
        exchange = self._answerer(message) if message.method in ASKS else None
        if exchange is not None and exchange.put(message, size):
            exchange.asked.add(message.id)
            return
        answer = relay.own_answer(message.method)
        self._offer(jsonrpc.response(message.id, answer.payload, is_error=answer.is_error))

    def _answerer(self, asked: jsonrpc.Request) -> Exchange | None:
        """Return the call whose client answers: the only one that may be asked, with no stranger beside it."""
        calls = self._calls()
        fit = [exchange for exchange in calls if exchange.may_be_asked(asked)]
        callers = {exchange.call.client.caller for exchange in calls if exchange.call is not None}
        return fit[0] if len(fit) == 1 and len(callers) == 1 else None


def _subscription(params: Document) -> bytes:
    try:
        return split(params.get(b'"_meta"') or b"{}").get(META_SUBSCRIPTION) or b""
    except MalformedJson:
        return b""


def _ignore(_: jsonrpc.Notification) -> None:
    """Hear nothing: nobody listens yet."""
