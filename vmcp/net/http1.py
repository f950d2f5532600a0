"""One HTTP/1.1 connection to a server: llhttp (by httptools) reads what comes, a request at a time.

Our own, because a general client costs more than all the rest of a call; connecting and pools are in `client`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from typing import cast

import httptools

from vmcp.net.budget import Budget, TooMuchAtOnce
from vmcp.net.errors import BodyTooLarge, NetError, alert, broken_off
from vmcp.net.packed import Unpacker, unpacked, unpacker

_HEAD_LIMIT = 64 * 2**10
# How much of a body waits in memory until its reader takes it; past that the server is made to wait.
_WAITING_BYTES = 256 * 2**10
_NO_LIMIT = -1
# In what steps the memory of an answer is reckoned; smaller ones are not.
_RECKONED_BYTES = 2**20


class Response:
    """The head of an answer, and its body, to be read once by one task; close it in every case."""

    __slots__ = (
        *(
            "_chunks",
            "_connection",
            "_error",
            "_headers",
            "_is_whole",
            "_limit",
            "_reckoned",
            "_waiter",
        ),
        # What is there of the head, how many bytes of the body wait for their reader, and the variable that
        # names the proxy that may have answered itself.
        *("content_type", "held", "proxy", "status"),
    )

    def __init__(self, connection: Connection) -> None:
        self.status = 0
        self.content_type = ""
        self.proxy: str | None = None
        self._connection = connection
        self._headers: dict[str, str] = {}
        self._chunks: list[bytes] = []
        self.held = 0
        self._limit = _NO_LIMIT
        self._reckoned = 0
        self._is_whole = False
        self._error: NetError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def header(self, name: str) -> str | None:
        """Return a header by its name in any case; of several the last."""
        return self._headers.get(name.lower())

    async def head(self) -> None:
        """Wait for the head; raise NetError."""
        while not self.status and not self._is_whole:
            await self._wait()
        if self._error is not None:
            raise self._error

    async def read(self, limit: int) -> bytes:
        """Return the whole body; raise BodyTooLarge past `limit` bytes, and NetError."""
        try:
            return await self._read(limit)
        finally:
            # What still comes after a reader has left is made to wait.
            self._limit = _NO_LIMIT
            self._connection.budget.give(self._reckoned)
            self._reckoned = 0

    async def _read(self, limit: int) -> bytes:
        self._limit = limit
        if not self._is_whole:
            self._cut_if_larger(int(self._headers.get("content-length", 0)))
            self._cut_if_larger(self.held)
            self._connection.resume()
        while not self._is_whole:
            await self._wait()
        if self._error is not None:
            raise self._error
        if self.held > limit:
            raise BodyTooLarge(limit)
        chunks, self._chunks = self._chunks, []
        if (unpack := self._unpacker()) is not None:
            return unpacked(unpack, chunks, limit)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives; raise NetError when the connection breaks before its end."""
        unpack = self._unpacker()
        while self._chunks or not self._is_whole:
            if not self._chunks:
                await self._wait()
                continue
            data, self.held = b"".join(self._chunks), 0
            self._chunks.clear()
            if not self._is_whole:
                self._connection.resume()
            if unpack is None:
                yield data
                continue
            for piece in unpack.feed(data):
                yield piece
                # A few packed bytes may keep the reader busy for long: others come in between.
                await asyncio.sleep(0)
        if self._error is not None:
            raise self._error
        if unpack is not None:
            unpack.end()

    def _unpacker(self) -> Unpacker | None:
        # We ask for no coding; some servers use one all the same.
        coding = self._headers.get("content-encoding")
        return None if coding is None else unpacker(coding)

    def close(self) -> None:
        """Cut the connection unless the body has come to its end."""
        if not self._is_whole:
            self._connection.abort()

    # What the connection tells.

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing but the end of the connection tells the end of the body."""
        names = self._headers
        return self.status != 0 and not ("content-length" in names or "transfer-encoding" in names)

    def begin(self, status: int, headers: dict[str, str]) -> None:
        """Take the head."""
        self.status = status
        self._headers = headers
        self.content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        self._wake()

    def add(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._chunks.append(data)
        self.held += len(data)
        if self._limit != _NO_LIMIT:
            # The reader wants the whole: it is woken at the end.
            self._cut_if_larger(self.held)
            if self.held - self._reckoned > _RECKONED_BYTES and not self._is_whole:
                self._reckon()
            return
        self._wake()
        if self.is_behind:
            self._connection.pause(self)

    @property
    def is_behind(self) -> bool:
        """Whether the reader takes pieces, and more of them wait than should."""
        return self.held > _WAITING_BYTES and self._limit == _NO_LIMIT

    def _reckon(self) -> None:
        try:
            self._connection.budget.take(self.held - self._reckoned)
        except TooMuchAtOnce as error:
            self.end(error)
            self._connection.abort()
        else:
            self._reckoned = self.held

    def _cut_if_larger(self, size: int) -> None:
        if size > self._limit:
            self.end(BodyTooLarge(self._limit))
            self._connection.abort()

    def end(self, error: NetError | None) -> None:
        """Take the end of the body, or what ended it before; the first of them counts."""
        if not self._is_whole:
            self._is_whole = True
            self._error = error
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


def _read_error(message: str) -> NetError:
    return NetError("read", message, sent=True)


class Connection(asyncio.Protocol):
    """A connection that carries one request after the other.

    `idle` is called whenever it may carry the next one, `lost` once it is gone.
    """

    def __init__(
        self,
        idle: Callable[[Connection], None],
        lost: Callable[[Connection], None],
        budget: Budget,
    ) -> None:
        self.budget = budget
        self._idle = idle
        self._lost = lost
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._tls: ssl.SSLObject | None = None
        self._response: Response | None = None
        self._headers: dict[str, str] = {}
        # The bytes of headers that were read, and all that came since the last piece of a body.
        self._header_bytes = 0
        self._bytes_beside = 0
        self._is_paused = False
        self._has_answered = False
        self.is_open = False
        self.idle_since = 0.0

    def exchange(self, request: bytes) -> Response:
        """Send a whole request and return its response, which is still to come."""
        response = self._response = Response(self)
        self._headers = {}
        self._header_bytes = self._bytes_beside = 0
        if self._transport is None or not self.is_open:
            self._fail(NetError("send", "the connection was closed", sent=False))
        else:
            self._transport.write(request)
        return response

    def abort(self) -> None:
        """Close the connection; a response that is not whole gets no more."""
        if self.is_open:
            self.is_open = False
            # In a turn of its own: TLS of asyncio goes on with what it was about when it called us.
            asyncio.get_running_loop().call_soon(self._abort)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def pause(self, response: Response) -> None:
        """Read no more until the reader of a response has caught up."""
        if self._tls is None:
            self._pause(response)
        else:
            # The reader goes first: a pause makes uvloop lose what comes just before an end of TLS.
            asyncio.get_running_loop().call_soon(self._pause, response)

    def _pause(self, response: Response) -> None:
        if self._transport is None or not self.is_open or self._is_paused:
            return
        if self._response is response and response.is_behind:
            self._is_paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._is_paused:
            self._is_paused = False
            if self.is_open and self._transport is not None:
                self._transport.resume_reading()

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._tls = transport.get_extra_info("ssl_object")
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Read on; bytes that answer nothing end the connection."""
        response = self._response
        if response is None:
            self.abort()
            return
        held = response.held
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(_read_error("the answer is no HTTP/1.1"))
            return
        if self._response is not None:
            self._count_beside(0 if response.held > held else self._bytes_beside + len(data))

    def _count_beside(self, size: int) -> None:
        # A head, a trailer or the size of a chunk that never ends would fill the memory.
        self._bytes_beside = size
        if size > _HEAD_LIMIT:
            self._fail(_read_error(f"the answer has more than {_HEAD_LIMIT} bytes beside its body"))

    def eof_received(self) -> None:
        """End the response whose end is the end of the connection; any other one is broken off."""
        response = self._response
        if response is not None and response.ends_with_connection and self._was_told_the_end():
            self._response = None
            response.end(None)
        self._fail_for(None)

    def _was_told_the_end(self) -> bool:
        """Tell an end from a cut: without TLS they are one."""
        if self._tls is None:
            return True
        try:
            return not self._tls.read(1)
        except ssl.SSLZeroReturnError:
            return True
        except ssl.SSLError:
            return False

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and with it the response that is not whole."""
        self.is_open = False
        self._transport = None
        self._fail_for(exc)
        self._lost(self)

    def _fail_for(self, cause: Exception | None) -> None:
        has_begun = self._response is not None and self._response.status
        if (told := alert(cause)) is not None:
            self._fail(NetError("tls", told, sent=True))
        elif self._tls is not None and not self._has_answered:
            told = (
                f"{broken_off(cause)} right after the handshake: does it want a client certificate?"
            )
            self._fail(NetError("send", told, sent=True))
        else:
            self._fail(NetError("read" if has_begun else "send", broken_off(cause), sent=True))

    def _fail(self, error: NetError) -> None:
        response, self._response = self._response, None
        if response is not None:
            response.end(error)
        self.abort()

    # What the parser tells.

    def on_message_begin(self) -> None:
        """Begin a response; one that nobody asked for would be taken for the next one's."""
        if self._response is None:
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header of a head, or of a trailer, which goes nowhere."""
        # The parser leaves white space at the end; a tab there makes `chunked` another word for it.
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1").rstrip(" ")
        self._header_bytes += len(name) + len(value)

    def on_headers_complete(self) -> None:
        """Hand over a head; an interim one (1xx) is passed over."""
        status = self._parser.get_status_code()
        headers, self._headers = self._headers, {}
        if self._response is None or status < 200:
            return
        if self._header_bytes > _HEAD_LIMIT:
            self._fail(_read_error(f"the head of the answer is larger than {_HEAD_LIMIT} bytes"))
        elif "transfer-encoding" in headers and headers["transfer-encoding"].lower() != "chunked":
            self._fail(_read_error("the answer has a transfer coding that nobody asked for"))
        else:
            self._has_answered = True
            self._response.begin(status, headers)

    def on_body(self, body: bytes) -> None:
        """Hand over a piece of the body; what belongs to an interim head goes nowhere."""
        if self._response is not None and self._response.status:
            self._response.add(body)

    def on_message_complete(self) -> None:
        """Hand over the end, and be idle if the connection may go on."""
        if self._response is None or not self._response.status:
            return
        response, self._response = self._response, None
        # An answer that came before the whole request was taken leaves the rest of it in the way.
        if self.is_open and self._parser.should_keep_alive() and self._has_sent_all():
            self.resume()
            self._idle(self)
        else:
            self.abort()
        response.end(None)

    def _has_sent_all(self) -> bool:
        return self._transport is not None and not self._transport.get_write_buffer_size()
