"""A backend that answers with prepared bytes and keeps the bytes that it was sent.

It speaks one era over streamable HTTP, in a thread of the test's own process. Nothing in it parses
what it is given or formats it anew.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from tests.support.raw_json import cases, member
from tests.support.raw_server import TOKEN, WELCOME, Era, How, Prepared, Sent, standing, token

STOP_SECONDS = 10
SENT_SECONDS = 10
PIECE = 61


class RawBackend:
    """An ASGI application; tests set `lists` and `answer`, and look into what was sent."""

    def __init__(self, era: Era, lists: Mapping[str, Sequence[bytes]]) -> None:
        self.era = era
        self.lists = lists
        self.answer = Prepared(b"{}")
        self.url = ""
        self._sent: list[Sent] = []
        self._changed = threading.Condition()
        self._sessions = itertools.count(1)
        self._streams: list[_Stream] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def last(self, method: str) -> Sent:
        """Return the newest request with a method."""
        return next(each for each in reversed(self._sent) if each.method == method)

    def all(self, method: str) -> list[Sent]:
        """Return the requests with a method, oldest first."""
        return [each for each in self._sent if each.method == method]

    def count(self) -> int:
        """Return how many requests there were."""
        return len(self._sent)

    def await_sent(self, is_it: Callable[[Sent], bool], after: int = 0) -> Sent:
        """Return the first request after so many that is the wanted one; wait for it."""

        def found() -> Sent | None:
            return next((each for each in self._sent[after:] if is_it(each)), None)

        with self._changed:
            sent = self._changed.wait_for(found, SENT_SECONDS)
        if sent is None:
            raise AssertionError(f"not sent: only {[each.method for each in self._sent[after:]]}")
        return sent

    def tell(self, method: str, params: bytes | None = None, meta: bytes | None = None) -> None:
        """Send a notification on every open stream of changes.

        `params` and `meta` are the members inside the braces; the stateless era tags each with
        the id of its stream.
        """

        def put() -> None:
            for stream in self._streams:
                stream.put(method, params, meta)

        self._in_loop(put)

    def end_streams(self) -> None:
        """End every open stream of changes."""

        def end() -> None:
            for stream in self._streams:
                stream.end()

        self._in_loop(end)

    def _in_loop(self, act: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and with it the streams
                self._loop.call_soon_threadsafe(act)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one HTTP request."""
        self._loop = asyncio.get_running_loop()
        headers = {key.decode(): value.decode("latin-1") for key, value in scope["headers"]}
        body = await _body(receive)
        if scope["method"] == "GET" and self.era is Era.SESSIONED:
            await self._stream(receive, send)
        elif scope["method"] != "POST":
            await _respond(send, 200 if scope["method"] == "DELETE" else 405)
        else:
            await self._post(headers, body, receive, send)

    async def _post(self, headers: Mapping[str, str], body: bytes, receive: Any, send: Any) -> None:
        envelope = cases(body)
        sent = Sent(json.loads(envelope.get("method", b'""')), headers, body)
        if sent.method == "subscriptions/listen" and self.era is Era.STATELESS:
            await self._stream(receive, send, listening=sent, identity=envelope["id"])
            return
        self._keep(sent)
        if "id" not in envelope or not sent.method:
            await _respond(send, 202)
        else:
            await self._answer(sent, envelope["id"], send)

    def _keep(self, sent: Sent) -> None:
        with self._changed:
            self._sent.append(sent)
            self._changed.notify_all()

    async def _answer(self, sent: Sent, identity: bytes, send: Any) -> None:
        prepared = standing(self.era, self.lists, sent) or self.answer
        extra = []
        if prepared is WELCOME:
            extra = [(b"mcp-session-id", b"raw-%d" % next(self._sessions))]
        if prepared.ask is not None:
            await _begin(send, 200, b"text/event-stream")
            await _event(send, prepared.ask)
            await asyncio.to_thread(self.await_sent, _is_answer, self.count())
        await _send(send, prepared, identity, sent, extra)

    async def _stream(
        self,
        receive: Any,
        send: Any,
        listening: Sent | None = None,
        identity: bytes | None = None,
    ) -> None:
        """Hold a stream of changes open until it is ended, or the client has left."""
        stream = _Stream(identity)
        self._streams.append(stream)
        if listening is not None:
            wanted = b'"notifications":' + member(listening.params, "notifications")
            stream.put("notifications/subscriptions/acknowledged", wanted, None)
            self._keep(listening)
        async with asyncio.TaskGroup() as tasks:
            leaving = tasks.create_task(_left(receive, stream))
            try:
                await _begin(send, 200, b"text/event-stream")
                while (message := await stream.messages.get()) is not None:
                    await _event(send, message)
                await send({"type": "http.response.body", "body": b""})
            finally:
                self._streams.remove(stream)
                leaving.cancel()


class _Stream:
    """One open stream of changes, tagged with its id where it has one."""

    def __init__(self, identity: bytes | None) -> None:
        self._tag = None if identity is None else SUBSCRIPTION + identity
        self.messages: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(self, method: str, params: bytes | None, meta: bytes | None) -> None:
        marks = b",".join(part for part in (meta, self._tag) if part is not None)
        inner = [] if params is None else [params]
        inner += [b'"_meta":{' + marks + b"}"] if marks else []
        tail = b',"params":{' + b",".join(inner) + b"}" if inner else b""
        message = b'{"jsonrpc":"2.0","method":"%b"%b}' % (method.encode(), tail)
        self.messages.put_nowait(message)

    def end(self) -> None:
        self.messages.put_nowait(None)


SUBSCRIPTION = b'"io.modelcontextprotocol/subscriptionId":'


def _is_answer(sent: Sent) -> bool:
    return sent.method == ""


async def _left(receive: Any, stream: _Stream) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.end()


async def _send(
    send: Any,
    prepared: Prepared,
    identity: bytes,
    sent: Sent,
    extra: Sequence[tuple[bytes, bytes]],
) -> None:
    kind = b"error" if prepared.is_error else b"result"
    if prepared.how is How.LOOSE:
        whole = b'\r\n{ "%b" : %b ,\r\n\t"id" : %b , "jsonrpc":"2.0" }\r\n'
        whole %= (kind, prepared.payload, identity)
    else:
        whole = b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (identity, kind, prepared.payload)
    if prepared.how is not How.STREAM:
        await _respond(send, prepared.status, whole, *extra)
        return
    if prepared.ask is None:
        await _begin(send, 200, b"text/event-stream; charset=utf-8", *extra)
    for note in prepared.notes:
        await _event(send, note.replace(TOKEN, token(sent)))
    await _event(send, whole)
    await send({"type": "http.response.body", "body": b""})


def _token(sent: Sent) -> bytes:
    meta = cases(sent.params).get("_meta", b"{}")
    return cases(meta).get("progressToken", TOKEN)


async def _begin(send: Any, status: int, kind: bytes, *extra: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", kind), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _respond(send: Any, status: int, body: bytes = b"", *extra: tuple[bytes, bytes]) -> None:
    await _begin(send, status, b"application/json", *extra)
    await send({"type": "http.response.body", "body": body})


async def _event(send: Any, message: bytes) -> None:
    """Send an event as hard to read as may be: comments, fields of no meaning, small pieces."""
    lines = b"".join(b"data: %b\n" % line for line in message.split(b"\n"))
    text = b": a comment\n\nretry: 5000\nevent: message\n%bx-unknown: 1\n\n" % lines
    for at in range(0, len(text), PIECE):
        piece = text[at : at + PIECE]
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _body(receive: Any) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


@contextmanager
def raw_backend(era: Era, lists: Mapping[str, Sequence[bytes]]) -> Iterator[RawBackend]:
    """Serve a backend on a free port of 127.0.0.1 while the block runs."""
    backend = RawBackend(era, lists)
    config = uvicorn.Config(
        backend, http="httptools", lifespan="off", log_config=None, timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        backend.url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield backend
        finally:
            server.should_exit = True
            backend.end_streams()
            thread.join(STOP_SECONDS)
