"""One HTTP/1.1 connection to a server: llhttp (by httptools) reads what comes, a request at a time.

Our own, because a general client costs more than all the rest of a call; connecting and pools are in `client`.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Protocol, cast

import httptools

from vmcp.net.errors import BodyTooLarge, NetError, broken_off

_HEAD_LIMIT = 64 * 2**10
# How much of a body waits in memory until its reader takes it; past that the server is made to wait.
_WAITING_BYTES = 256 * 2**10
_NO_LIMIT = -1


class Unzip(Protocol):
    """What `zlib.decompressobj` returns."""

    @property
    def unconsumed_tail(self) -> bytes:
        """What was not unpacked for want of room."""
        ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Unpack at most `max_length` bytes."""
        ...


class Response:
    """The head of an answer, and its body, to be read once by one task; close it in every case."""

    __slots__ = (
        *(
            "_chunks",
            "_connection",
            "_error",
            "_headers",
            "_held",
            "_is_whole",
            "_limit",
            "_waiter",
        ),
        *("content_type", "status"),
    )

    def __init__(self, connection: Connection) -> None:
        self.status = 0
        self.content_type = ""
        self._connection = connection
        self._headers: dict[str, str] = {}
        self._chunks: list[bytes] = []
        self._held = 0
        self._limit = _NO_LIMIT
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
        self._limit = limit
        self._check_limit()
        self._connection.resume()
        while not self._is_whole:
            await self._wait()
        if self._error is not None:
            raise self._error
        chunks, self._chunks = self._chunks, []
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if not self._is_zipped:
            return body
        return b"".join(_bounded(_unzipped(zlib.decompressobj(wbits=47), body), limit))

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives; raise NetError when the connection breaks before its end."""
        unzip = zlib.decompressobj(wbits=47) if self._is_zipped else None
        while self._chunks or not self._is_whole:
            if not self._chunks:
                await self._wait()
                continue
            data, self._held = b"".join(self._chunks), 0
            self._chunks.clear()
            self._connection.resume()
            for piece in (data,) if unzip is None else _unzipped(unzip, data):
                yield piece
        if self._error is not None:
            raise self._error

    @property
    def _is_zipped(self) -> bool:
        # We ask for no encoding; some servers use one all the same.
        return self._headers.get("content-encoding", "").lower() in ("gzip", "x-gzip", "deflate")

    def close(self) -> None:
        """Cut the connection unless the body has come to its end."""
        if not self._is_whole:
            self._connection.abort()

    # What the connection tells.

    def begin(self, status: int, headers: dict[str, str]) -> None:
        """Take the head."""
        self.status = status
        self._headers = headers
        self.content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        self._wake()

    def add(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._chunks.append(data)
        self._held += len(data)
        if self._limit != _NO_LIMIT:
            # The reader wants the whole: it is woken at the end.
            self._check_limit()
            return
        if self._held > _WAITING_BYTES:
            self._connection.pause()
        self._wake()

    def _check_limit(self) -> None:
        if self._held > self._limit and not self._error:
            self.end(BodyTooLarge(self._limit))
            self._connection.abort()

    def end(self, error: NetError | None) -> None:
        """Take the end of the body, or what ended it before."""
        if not self._is_whole or error is not None:
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


def _unzipped(unzip: Unzip, data: bytes) -> Iterator[bytes]:
    """Yield what `data` unpacks to in pieces that are small, however much it is."""
    try:
        while data:
            yield unzip.decompress(data, _WAITING_BYTES)
            data = unzip.unconsumed_tail
    except zlib.error:
        raise NetError(
            "read", "the body is packed in another way than it says", sent=True
        ) from None


def _bounded(pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise BodyTooLarge(limit)
        yield piece


def _head_too_large() -> NetError:
    message = f"the head of the answer is larger than {_HEAD_LIMIT} bytes"
    return NetError("read", message, sent=True)


class Connection(asyncio.Protocol):
    """A connection that carries one request after the other; `idle` is called when it may carry the next."""

    def __init__(self, idle: Callable[[Connection], None]) -> None:
        self._idle = idle
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._response: Response | None = None
        self._headers: dict[str, str] = {}
        # The bytes of headers that were read, and those that came for a head which is not whole.
        self._head_bytes = 0
        self._unread = 0
        self._is_paused = False
        self.is_open = False
        self.idle_since = 0.0

    def exchange(self, request: bytes) -> Response:
        """Send a whole request and return its response, which is still to come."""
        response = self._response = Response(self)
        self._headers = {}
        self._head_bytes = self._unread = 0
        if self._transport is None or not self.is_open:
            self._fail(NetError("send", "the connection was closed", sent=False))
        else:
            self._transport.write(request)
        return response

    def abort(self) -> None:
        """Close the connection at once; a response that is not whole gets no more."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        """Read no more for now."""
        if self._transport is not None and not self._is_paused and self.is_open:
            self._is_paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._is_paused:
            self._is_paused = False
            if self._transport is not None and self.is_open:
                self._transport.resume_reading()

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Read on; bytes that answer nothing end the connection."""
        response = self._response
        if response is None:
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(NetError("read", "the answer is no HTTP/1.1", sent=True))
            return
        if not response.status:
            self._unread += len(data)
            if self._unread > _HEAD_LIMIT:
                self._fail(_head_too_large())

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and with it the response that is not whole, unless its end is the end of the connection."""
        self.is_open = False
        self._transport = None
        response, self._response = self._response, None
        if response is None:
            return
        if exc is None and response.status and self._ends_with_connection():
            response.end(None)
            return
        stage = "read" if response.status else "send"
        response.end(NetError(stage, broken_off(exc), sent=True))

    def _ends_with_connection(self) -> bool:
        encoding = self._headers.get("transfer-encoding", "").lower()
        return "content-length" not in self._headers and "chunked" not in encoding

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
        """Take a header."""
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1").strip()
        self._head_bytes += len(name) + len(value)

    def on_headers_complete(self) -> None:
        """Hand over a head; an interim one (1xx) is passed over."""
        status = self._parser.get_status_code()
        if status < 200:
            self._headers = {}
        elif self._head_bytes > _HEAD_LIMIT:
            self._fail(_head_too_large())
        elif self._response is not None:
            self._response.begin(status, self._headers)

    def on_body(self, body: bytes) -> None:
        """Hand over a piece of the body."""
        if self._response is not None:
            self._response.add(body)

    def on_message_complete(self) -> None:
        """Hand over the end, and be idle if the connection may go on."""
        if self._response is None or not self._response.status:
            return
        response, self._response = self._response, None
        transport = self._transport
        if transport is None or not self._parser.should_keep_alive():
            self.is_open = False
        # An answer that came before the whole request was taken leaves the rest of it in the way.
        if self.is_open and transport is not None and not transport.get_write_buffer_size():
            self.resume()
            self._idle(self)
        elif transport is not None:
            self.is_open = False
            transport.close()
        response.end(None)
