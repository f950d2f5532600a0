"""A client that launched us: its messages come on our standard input, a line each, ours go to the output."""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import CancelledError
from contextlib import aclosing, suppress

from vmcp.model.identity import ANONYMOUS
from vmcp.model.view import View
from vmcp.protocol import jsonrpc
from vmcp.protocol.failures import Failure, InvalidRequest
from vmcp.protocol.lines import Lines, Overlong
from vmcp.transport.incoming.dialogue import Busy, Dialogue
from vmcp.transport.incoming.endpoint import Endpoint
from vmcp.transport.incoming.request import Guest

log = logging.getLogger(__name__)

LINE_LIMIT = 16 * 2**20
_CHUNK_BYTES = 2**16
_MOST_CHUNKS = 4
# Who closes our input waits for our end, and kills us soon; what is nearly done may still be told.
_LAST_WORDS_SECONDS = 1.0
_STOPPED_SECONDS = 20.0
_LINE_ENDS = re.compile(rb"[\r\n]+")
_ID = rb'"id"\s*:\s*(-?\d+|"[^"\\]*")\s*'
_HEAD = re.compile(rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*' + _ID + rb",")
# The brace at the very end closes the message itself, so an id right before it is the message's own.
_TAIL = re.compile(rb",\s*" + _ID + rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')

Ready = Callable[[], Awaitable[None]]


def own_streams() -> tuple[int, int]:
    """Return standard input and output for us alone: what else prints goes to standard error from now on."""
    ours = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return ours


class Input:
    """Lines of a file descriptor, read by a thread: it may be a pipe, a file or a terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(_MOST_CHUNKS)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def _read(self) -> None:
        chunk = b"-"
        # The loop ends when nobody wants to know any more.
        with suppress(RuntimeError, CancelledError):
            while chunk:
                try:
                    chunk = os.read(self._descriptor, _CHUNK_BYTES)
                except OSError:
                    chunk = b""
                asyncio.run_coroutine_threadsafe(self._chunks.put(chunk), self._loop).result()

    async def lines(self) -> AsyncGenerator[bytes | Overlong, None]:
        """Yield the lines that are not empty, until the input ends."""
        lines = Lines(LINE_LIMIT)
        while chunk := await self._chunks.get():
            for line in lines.feed(chunk):
                if line:
                    yield line
        for line in lines.feed(b"\n"):
            if line:
                yield line


class Output:
    """A file descriptor to which messages are written in their order by a thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        # Set when nobody reads any more.
        self.broken = asyncio.Event()
        threading.Thread(target=self._write, name="stdout", daemon=True).start()

    async def send(self, message: bytes) -> None:
        """Write a message as one line; return when it was taken."""
        if self.broken.is_set():
            return
        # Outside of strings, which hold none, a line end is white space.
        line = _LINE_ENDS.sub(b" ", message) + b"\n"
        taken: asyncio.Future[None] = self._loop.create_future()
        self._waiting.put((line, taken))
        await taken

    def _write(self) -> None:
        with suppress(RuntimeError):
            while True:
                line, taken = self._waiting.get()
                try:
                    while line:
                        line = line[os.write(self._descriptor, line) :]
                except OSError:
                    self._loop.call_soon_threadsafe(self.broken.set)
                self._loop.call_soon_threadsafe(_settle, taken)


def _settle(taken: asyncio.Future[None]) -> None:
    if not taken.done():
        taken.set_result(None)


async def serve(
    endpoint: Endpoint, streams: tuple[int, int], view: View, ready: Ready, stop: asyncio.Event
) -> None:
    """Serve a view until the input ends, nobody reads the output any more, or `stop` is set.

    What needs the backends waits until `ready`: a client that launched us asks for their lists at once, and
    many a one only once.
    """
    source, sink = Input(streams[0]), Output(streams[1])
    dialogue = Dialogue(endpoint, sink.send, Guest(ANONYMOUS, view))
    async with dialogue.going_on():
        async with asyncio.TaskGroup() as tasks:
            ends = [
                tasks.create_task(_serve(source, sink, dialogue, ready)),
                tasks.create_task(_until(stop)),
                tasks.create_task(_until(sink.broken)),
            ]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()
        log.info("stopping", extra={"signal": stop.is_set()})
        endpoint.stop()
        if not await _is_quiet(
            dialogue, _STOPPED_SECONDS if stop.is_set() else _LAST_WORDS_SECONDS
        ):
            endpoint.cut_off()
            await _is_quiet(dialogue, _LAST_WORDS_SECONDS)


async def _is_quiet(dialogue: Dialogue, seconds: float) -> bool:
    """Wait until all calls have been answered; False where that takes too long."""
    try:
        async with asyncio.timeout(seconds):
            await dialogue.quiet()
    except TimeoutError:
        return False
    return True


async def _until(event: asyncio.Event) -> None:
    await event.wait()


async def _serve(source: Input, sink: Output, dialogue: Dialogue, ready: Ready) -> None:
    async with aclosing(source.lines()) as lines:
        async for line in lines:
            if isinstance(line, Overlong):
                await sink.send(_too_long(line))
                continue
            if _needs_backends(line):
                await ready()
            try:
                await dialogue.take(line)
            except Busy:
                busy = Failure("Too many messages are under way.").payload()
                await sink.send(jsonrpc.response(jsonrpc.identity(line), busy, is_error=True))


def _needs_backends(line: bytes) -> bool:
    try:
        message = jsonrpc.read(line)
    except Failure:
        return False
    return isinstance(message, jsonrpc.Request) and message.method not in _OURS


_OURS = frozenset(("initialize", "ping", "server/discover"))


def _too_long(line: Overlong) -> bytes:
    found = _HEAD.match(line.head) or _TAIL.search(line.tail)
    failure = InvalidRequest(f"A message may have at most {LINE_LIMIT} bytes.")
    identity = None if found is None else found[1]
    return jsonrpc.response(identity, failure.payload(), is_error=True)
