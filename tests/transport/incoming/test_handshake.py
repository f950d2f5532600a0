"""Connections before TLS is agreed on: counted, bounded; what comes with the last words is not lost."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvloop

from tests.support.authority import certificate, ec_key, plain, put
from tests.support.gateways import shut
from tests.support.waiting import until
from vmcp.config.keypair import server_context
from vmcp.latest import Latest
from vmcp.transport.incoming.arrival import proxies
from vmcp.transport.incoming.asgi import Receive, Scope, Send, respond
from vmcp.transport.incoming.crowd import Bounds, Crowd
from vmcp.transport.incoming.handshake import HANDSHAKE_SECONDS
from vmcp.transport.incoming.server import Server, listening, server

OWN = certificate("own", ec_key())
GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
# The beginning of a hello that never ends.
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
NO_HANDSHAKES = {"http": GET, "an alert": b"\x15\x03\x03\x00\x02\x02\x28", "nonsense": b"\xff" * 64}


@dataclass(frozen=True, slots=True)
class Gate:
    server: Server
    crowd: Crowd
    port: int

    async def client(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect without a word of TLS, and wait until the server knows of it."""
        before = self.crowd.count
        made = await asyncio.open_connection("127.0.0.1", self.port)
        await until(lambda: self.crowd.count > before)
        return made

    async def empty(self) -> None:
        """Wait until nobody is connected, and nobody is counted."""
        await until(lambda: not self.server.server_state.connections and not self.crowd.count)


async def told(scope: Scope, _receive: Receive, send: Send) -> None:
    await respond(send, 200, f"{scope['scheme']} {scope['client'][0]}".encode(), [])


@asynccontextmanager
async def gate(folder: Path, connections: int = 9) -> AsyncIterator[Gate]:
    found = put(folder, OWN, plain(ec_key()))
    tls = server_context(Path(found["certFile"]), Path(found["keyFile"]))
    crowd = Crowd(Latest(Bounds(connections, connections, proxies(()))), 999)
    with listening("127.0.0.1", 0) as bound:
        main = server(told, 1.0, tls, crowd)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(main.serve([bound]))
            await until(lambda: main.started)
            yield Gate(main, crowd, bound.getsockname()[1])
            running.cancel()
            await shut(main)


async def rest(reader: asyncio.StreamReader) -> bytes:
    with suppress(ConnectionError):
        return await reader.read()
    return b""


async def a_handshake_without_an_end_is_counted_and_cut_off(folder: Path) -> None:
    async with gate(folder, connections=1) as at:
        reader, writer = await at.client()
        writer.write(HELLO)
        other, _ = await asyncio.open_connection("127.0.0.1", at.port)
        assert await rest(other) == b""
        assert at.crowd.turned_away == 1
        now = asyncio.get_running_loop().time()

        at.server.look(now + HANDSHAKE_SECONDS - 1)
        assert at.crowd.count == 1
        at.server.look(now + HANDSHAKE_SECONDS + 1)

        await rest(reader)
        await at.empty()
        assert b"https 127.0.0.1" in await got(at.port)


async def what_is_no_handshake_leaves_nothing(folder: Path) -> None:
    async with gate(folder) as at:
        for sent in NO_HANDSHAKES.values():
            reader, writer = await at.client()
            writer.write(sent)
            assert b"HTTP/1.1 200" not in await rest(reader)
            writer.close()
            await at.empty()
        _, writer = await at.client()
        writer.close()
        await at.empty()
        assert b"https" in await got(at.port)


async def a_request_that_comes_with_the_last_words_is_served(folder: Path) -> None:
    """As with TLS 1.3, where a client asks before it has heard that all is well."""
    async with gate(folder) as at:
        reader, writer = await at.client()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cadata=OWN)
        tls = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        with suppress(ssl.SSLWantReadError):
            tls.do_handshake()
        writer.write(outgoing.read())
        is_done = False
        while not is_done:
            incoming.write(await reader.read(2**16))
            with suppress(ssl.SSLWantReadError):
                tls.do_handshake()
                is_done = True
        tls.write(GET)
        writer.write(outgoing.read())

        answer = b""
        while b"https 127.0.0.1" not in answer:
            with suppress(ssl.SSLWantReadError):
                answer += tls.read(2**16)
                continue
            incoming.write(await reader.read(2**16))
        writer.close()
        await at.empty()


async def the_end_waits_for_no_handshake(folder: Path) -> None:
    async with gate(folder) as at:
        reader, _ = await at.client()
        at.server.stop()

        await rest(reader)
        await at.empty()


async def got(port: int) -> bytes:
    context = ssl.create_default_context(cadata=OWN)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(GET)
    answer = await reader.readuntil(b"127.0.0.1")
    writer.close()
    return answer


JOURNEYS = (
    a_handshake_without_an_end_is_counted_and_cut_off,
    what_is_no_handshake_leaves_nothing,
    a_request_that_comes_with_the_last_words_is_served,
    the_end_waits_for_no_handshake,
)


@pytest.mark.parametrize(
    "loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
@pytest.mark.parametrize("journey", JOURNEYS, ids=[each.__name__ for each in JOURNEYS])
def test_a_connection_without_tls_yet(
    journey: Callable[[Path], Awaitable[None]],
    loop: Callable[[], asyncio.AbstractEventLoop],
    tmp_path: Path,
) -> None:
    async def run() -> None:
        await journey(tmp_path)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())
