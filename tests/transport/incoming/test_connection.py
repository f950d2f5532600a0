"""What a client's connection may take of memory and time, byte by byte."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from tests.support.gateways import shut
from tests.support.waiting import until
from vmcp.latest import Latest
from vmcp.transport.incoming.arrival import proxies
from vmcp.transport.incoming.asgi import Message, Receive, Scope, Send
from vmcp.transport.incoming.connection import (
    HEAD_SECONDS,
    IDLE_SECONDS,
    REQUEST_SECONDS,
    STALLED_SECONDS,
)
from vmcp.transport.incoming.crowd import Bounds, Crowd
from vmcp.transport.incoming.server import Server, listening, server

GET = b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"
MEGABYTE = 2**20


@dataclass(eq=False)
class Door:
    """A server with an application that answers, or never ends."""

    server: Server
    port: int
    left: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def client(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect, and wait until the server knows of it."""
        before = len(self.server.server_state.connections)
        made = await asyncio.open_connection("127.0.0.1", self.port)
        await until(lambda: len(self.server.server_state.connections) > before)
        return made

    def look(self, after: float) -> None:
        """Look after the connections as if so much time had passed."""
        self.server.look(asyncio.get_running_loop().time() + after)

    async def empty(self) -> None:
        """Wait until nobody is connected."""
        await until(lambda: not self.server.server_state.connections)


@asynccontextmanager
async def door(connections: int = 9, per_client: int = 9) -> AsyncIterator[Door]:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await serve(found, scope, receive, send)

    crowd = Crowd(Latest(Bounds(connections, per_client, proxies(()))), 999)
    with listening("127.0.0.1", 0) as socket:
        made = server(app, 1.0, None, crowd)
        found = Door(made, socket.getsockname()[1])
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(made.serve([socket]))
            await until(lambda: made.started)
            try:
                yield found
            finally:
                for each in tuple(made.server_state.connections):
                    each.transport.abort()
                serving.cancel()
                await shut(made)


async def serve(at: Door, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request: `/flood` never ends, and neither does `/hang`; others say what they got."""
    message: Message = {"more_body": True}
    body = b""
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
        if message["type"] == "http.disconnect":
            at.left.append(scope["path"])
            return
    at.bodies.append(body)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while scope["path"] == "/flood" and not at.left:
        await send({"type": "http.response.body", "body": b"x" * MEGABYTE, "more_body": True})
        waiting = asyncio.ensure_future(receive())
        await asyncio.wait([waiting], timeout=0)
        if waiting.done():
            at.left.append(scope["path"])
        waiting.cancel()
    await send({"type": "http.response.body", "body": b"ok"})


async def rest(reader: asyncio.StreamReader) -> bytes:
    with suppress(ConnectionError):
        return await reader.read()
    return b""


@pytest.mark.parametrize(
    ("sent", "seconds", "answer"),
    [
        pytest.param(b"", IDLE_SECONDS, b"", id="nothing"),
        pytest.param(b"GET / HT", HEAD_SECONDS, b"HTTP/1.1 408 ", id="half a head"),
        pytest.param(POST + b"{", REQUEST_SECONDS, b"HTTP/1.1 408 ", id="half a body"),
        pytest.param(GET % b"" + b"GET", HEAD_SECONDS, b"HTTP/1.1 200 ", id="half a second head"),
    ],
)
async def test_a_request_that_does_not_come_is_waited_for_so_long(
    sent: bytes, seconds: float, answer: bytes
) -> None:
    async with door() as at:
        reader, writer = await at.client()
        writer.write(sent)
        (connection,) = at.server.server_state.connections
        await until(lambda: not sent or connection._has_begun)  # type: ignore[union-attr]
        if sent.startswith(b"GET / HTTP"):
            await until(lambda: connection.cycle and connection.cycle.response_complete)

        at.look(seconds - 1)
        assert not connection.transport.is_closing()

        at.look(seconds + 1)
        assert (await rest(reader)).startswith(answer)
        await at.empty()
        writer.close()


async def test_the_application_is_told_of_a_body_that_does_not_come() -> None:
    async with door() as at:
        _, writer = await at.client()
        writer.write(POST + b"{")
        (connection,) = at.server.server_state.connections
        await until(lambda: connection.cycle)

        at.look(REQUEST_SECONDS + 1)

        await until(lambda: at.left == ["/"])
        writer.close()


async def test_a_connection_that_is_kept_is_waited_for_longer() -> None:
    async with door() as at:
        reader, writer = await at.client()
        writer.write(GET % b"")
        await reader.readuntil(b"ok")

        at.look(HEAD_SECONDS + 1)

        writer.write(GET % b"")
        assert b"ok" in await reader.readuntil(b"ok")
        writer.close()


async def test_a_client_that_takes_nothing_is_cut_off_and_one_that_takes_a_little_is_not() -> None:
    async with door() as at:
        reader, writer = await at.client()
        writer.write(GET % b"flood")
        (connection,) = at.server.server_state.connections
        await until(lambda: connection._stalled_since)  # type: ignore[union-attr]

        at.look(STALLED_SECONDS - 1)
        assert not connection.transport.is_closing()

        def stalled() -> tuple[float | None, int]:
            return connection._stalled_since, connection.waiting_bytes  # type: ignore[union-attr]

        before = stalled()
        for _ in range(64):
            await reader.readexactly(2**16)
        # It may have caught up for a moment, in which it lets nobody wait.
        await until(lambda: stalled() != before and connection._stalled_since)  # type: ignore[union-attr]
        at.look(STALLED_SECONDS - 1)
        assert not connection.transport.is_closing()

        at.look(3 * STALLED_SECONDS)
        await at.empty()
        await until(lambda: at.left == ["/flood"])
        writer.transport.abort()


async def test_who_takes_nothing_does_not_hold_up_the_end() -> None:
    async with door() as at:
        _, writer = await at.client()
        writer.write(GET % b"flood")
        (connection,) = at.server.server_state.connections
        await until(lambda: connection._stalled_since)  # type: ignore[union-attr]

        at.server.hasten()
        at.look(2.5)

        await at.empty()
        writer.transport.abort()


async def test_an_answer_that_nobody_takes_does_not_keep_a_closing_connection() -> None:
    async with door() as at:
        _, writer = await at.client()
        writer.write(GET % b"flood")
        (connection,) = at.server.server_state.connections
        await until(lambda: connection._stalled_since)  # type: ignore[union-attr]
        connection.transport.close()

        at.look(STALLED_SECONDS + 1)

        await at.empty()
        writer.transport.abort()


async def test_when_memory_is_short_those_who_let_the_most_wait_are_cut_off() -> None:
    async with door() as at:
        writers = [(await at.client())[1] for _ in range(3)]
        for writer in writers:
            writer.write(GET % b"flood")
        every = at.server.server_state.connections
        await until(lambda: all(each._stalled_since for each in every))  # type: ignore[union-attr]
        waiting = [each.waiting_bytes for each in every]  # type: ignore[union-attr]
        at.server._most_waiting_bytes = sum(waiting) - 1

        at.look(1)
        assert not any(each.transport.is_closing() for each in every)
        at.look(3)

        await until(lambda: len(every) == 2)
        for writer in writers:
            writer.transport.abort()


async def _sees_503(at: Door) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
    assert (await rest(reader)).startswith(
        b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n"
    )
    writer.close()


@pytest.mark.parametrize("allowed", [(1, 1), (9, 1)], ids=["all", "one client"])
async def test_a_connection_too_many_gets_503_until_there_is_room(allowed: tuple[int, int]) -> None:
    async with door(*allowed) as at:
        _, writer = await at.client()

        await _sees_503(at)

        writer.close()
        await at.empty()
        reader, writer = await at.client()
        writer.write(GET % b"")
        assert b"ok" in await reader.readuntil(b"ok")
        writer.close()


async def test_what_a_client_sends_that_was_turned_away_is_not_served() -> None:
    async with door(0, 0) as at:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        writer.write(GET % b"flood")

        assert (await rest(reader)).count(b"HTTP/1.1") <= 1
        writer.close()


UPGRADES = {
    "Java": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEA\r\n",
    "among others": b"Connection: keep-alive, upgrade\r\nUpgrade: h2c, foo/2\r\n",
    "twice": b"Connection: Upgrade\r\nConnection: HTTP2-Settings\r\nUpgrade: h2c\r\n",
    "websocket": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
}
BODIES = {
    "length": b"Content-Length: 4\r\n\r\nbody",
    "chunked": b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("upgrade", UPGRADES.values(), ids=UPGRADES.keys())
async def test_who_offers_another_protocol_is_served_in_this_one(
    upgrade: bytes, body: bytes
) -> None:
    """Java's client offers HTTP/2 with each request on a connection without TLS."""
    request = b"POST / HTTP/1.1\r\nHost: a\r\n" + upgrade + body
    async with door() as at:
        reader, writer = await at.client()
        writer.write(request)
        assert b" 200 " in await reader.readuntil(b"ok")
        # In pieces, and with the next one at its heels.
        for piece in (request[:50], request[50:-3], request[-3:] + request):
            writer.write(piece)
            await writer.drain()
        for _ in range(2):
            assert b" 200 " in await reader.readuntil(b"ok")
        writer.close()

    assert at.bodies == [b"body"] * 3


NO_REQUESTS = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a tunnel": b"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
    "a tunnel to a path": b"CONNECT /mcp HTTP/1.1\r\nHost: a:80\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n",
    "length and chunks": POST.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "a folded header": b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n",
    "NUL": b"GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "a bare line feed": b"GET / HTTP/1.1\nHost: a\n\n",
}


@pytest.mark.parametrize("sent", NO_REQUESTS.values(), ids=NO_REQUESTS.keys())
async def test_what_is_no_request_gets_400_is_counted_and_fills_no_log(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with door() as at:
        reader, writer = await at.client()
        writer.write(sent)

        assert (await rest(reader)).startswith(b"HTTP/1.1 400 Bad Request\r\n")
        await at.empty()
        writer.close()

    assert at.server.config.refused == {400: 1}
    assert not at.bodies
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


async def test_a_head_that_is_too_large_and_one_too_slow_are_counted() -> None:
    async with door() as at:
        for sent in (b"GET / HTTP/1.1\r\nX: " + b"x" * 2**17, b"GET"):
            reader, writer = await at.client()
            writer.write(sent)
            (connection,) = at.server.server_state.connections
            await until(lambda held=connection: held._has_begun)  # type: ignore[misc]
            at.look(HEAD_SECONDS + 1)
            await rest(reader)
            await at.empty()
            writer.close()

    assert at.server.config.refused == {431: 1, 408: 1}
