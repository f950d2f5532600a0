"""Requests as they leave, and the connections that they share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from tests.net.calls import Got, call, failed, start
from tests.net.raw import (
    OK,
    Peer,
    Script,
    answer,
    closed_port,
    connections_to,
    deaf,
    once,
    serve,
    serving,
    turns,
)
from tests.support.waiting import moment, until
from vmcp.net.client import HttpClient
from vmcp.net.errors import NetError
from vmcp.net.tls import SYSTEM
from vmcp.net.url import Url, parse

MEGABYTE = 2**20


async def test_a_request_has_each_header_once_and_a_length(client: HttpClient) -> None:
    async with serving(serve(answer())) as site:
        headers = {"Content-Type": "application/json", "X": " a  b\t"}
        (await client.send("POST", site.at("localhost"), headers, b"{}", SYSTEM)).close()
        (sent,) = site.peers.all[0].requests

        assert sent == (
            b"POST /mcp HTTP/1.1\r\nHost: localhost:%d\r\nVia: 1.1 vmcp-test\r\n"
            b"Content-Type: application/json\r\nX:  a  b\t\r\nContent-Length: 2\r\n\r\n{}"
            % site.port
        )


@pytest.mark.parametrize(("body", "told"), [(None, b""), (b"", b"Content-Length: 0\r\n")])
async def test_no_body_and_an_empty_one_differ(body: bytes | None, told: bytes) -> None:
    client = HttpClient()

    async with serving(serve(answer())) as site:
        (await client.send("DELETE", site.at("127.0.0.1", "/a?b"), {}, body, SYSTEM)).close()
        await client.close()

        expected = b"DELETE /a?b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%b\r\n" % (site.port, told)
        assert site.peers.all[0].requests == [expected]


async def test_the_bytes_of_headers_leave_as_they_are(client: HttpClient) -> None:
    value = "J\u00fcrgen \u65e5\u672c".encode().decode("latin-1") + "\xff"

    async with serving(serve(answer())) as site:
        (await client.send("POST", site.url, {"X": value}, b"", SYSTEM)).close()

        assert b"\r\nX: " + value.encode("latin-1") + b"\r\n" in site.peers.all[0].requests[0]


@pytest.mark.parametrize("bad", ["\r\nY: 1", "\n", "\r", "\0", "\r\n\r\n", "\u65e5", "\ud800"])
async def test_what_no_header_may_hold_never_leaves(client: HttpClient, bad: str) -> None:
    async with serving(serve(answer())) as site:
        for headers in ({"X": f"a{bad}b"}, {"X": bad}, {f"X{bad}Z": "a"}, {"A": "b", "X": bad}):
            with pytest.raises(NetError) as error:
                await client.send("POST", site.url, headers, b"{}", SYSTEM)
            assert (error.value.stage, error.value.sent) == ("send", False)

        assert len(site.peers) == 0


async def test_a_large_request_arrives_whole(client: HttpClient) -> None:
    body = bytes(range(256)) * 2**16

    async with serving(serve(answer(b"ok"))) as site:
        assert (await call(client, site, body)).body == b"ok"

        assert site.peers.all[0].requests[0].endswith(b"\r\n\r\n" + body)


async def test_calls_one_after_the_other_share_a_connection(client: HttpClient) -> None:
    async with serving(serve(answer(b"1"), answer(b"2"), answer(b"3"))) as site:
        got = [(await call(client, site)).body for _ in range(3)]

        assert got == [b"1", b"2", b"3"]
        assert len(site.peers) == 1


class Gate:
    """A script that holds each answer back until it is let go."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self, peer: Peer) -> None:
        while True:
            await peer.request()
            await self.open.wait()
            await peer.say(answer(b"%d" % peer.number))


async def test_calls_at_once_have_as_many_connections_as_they_need(client: HttpClient) -> None:
    gate = Gate()

    async with serving(gate) as site:
        for _ in range(2):
            gate.open.clear()
            async with asyncio.TaskGroup() as tasks:
                calls = [start(tasks, client, site) for _ in range(50)]
                await until(lambda: sum(len(each.requests) for each in site.peers.all) % 50 == 0)
                await until(lambda: len(site.peers) == 50)
                gate.open.set()
            assert len({each.result().body for each in calls}) == 50
        assert len(site.peers) == 50


async def test_the_connection_that_was_used_last_is_used_next(client: HttpClient) -> None:
    turn = [asyncio.Event(), asyncio.Event()]

    async def script(peer: Peer) -> None:
        await peer.request()
        await turn[peer.number].wait()
        await peer.say(answer(b"%d" % peer.number))
        await peer.serve(answer(b"%d" % peer.number))

    async with serving(script) as site, asyncio.TaskGroup() as tasks:
        first, second = start(tasks, client, site), start(tasks, client, site)
        await until(lambda: len(site.peers) == 2)
        turn[1].set()
        await until(lambda: first.done() or second.done())
        turn[0].set()
        await asyncio.wait((first, second))

        assert (await call(client, site)).body == b"0"
        assert (await call(client, site)).body == b"0"


@pytest.mark.parametrize("end", [Peer.close, Peer.cut, Peer.reset])
async def test_a_connection_that_ended_while_idle_is_not_used(
    client: HttpClient, end: Callable[[Peer], None]
) -> None:
    async with serving(once(answer(b"first"), then=end), serve(answer(b"next"))) as site:
        assert await call(client, site) == Got(200, b"first")
        (pool,) = client._pools.values()
        await until(lambda: not pool._all)
        assert await call(client, site) == Got(200, b"next")


@pytest.mark.parametrize("end", [Peer.close, Peer.reset])
async def test_a_request_that_meets_the_end_of_its_connection_may_have_been_seen(
    client: HttpClient, end: Callable[[Peer], None]
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.say(answer(b"first"))
        await peer.request()
        end(peer)

    async with serving(script, serve(answer(b"next"))) as site:
        await call(client, site)
        error = await failed(client, site)

        assert (error.stage, error.sent) == ("send", True)
        assert await call(client, site) == Got(200, b"next")
        assert [len(each.requests) for each in site.peers.all] == [2, 1]


async def test_where_nobody_listens_nothing_is_sent(client: HttpClient) -> None:
    url = parse(f"http://127.0.0.1:{closed_port()}/mcp")

    with pytest.raises(NetError, match="Connection refused") as error:
        await client.send("POST", url, {}, b"{}", SYSTEM)

    assert (error.value.stage, error.value.sent) == ("connect", False)


@pytest.mark.parametrize("host", ["a" * 64 + ".test", "a..b", ".", "[v1.x]", "256.1.1.1.1"])
async def test_a_host_that_is_none_is_told_as_such(client: HttpClient, host: str) -> None:
    with pytest.raises(NetError, match=r"host name|addresses") as error:
        await client.send("POST", parse(f"http://{host}:9/mcp"), {}, b"{}", SYSTEM)

    assert (error.value.stage, error.value.sent) == ("connect", False)
    assert host not in str(error.value)


async def test_different_origins_share_no_connection(client: HttpClient) -> None:
    async with serving(serve(answer(b"a"))) as a, serving(serve(answer(b"b"))) as b:
        got = [(await call(client, site)).body for site in (a, b, a, b)]
        (await client.send("POST", a.at("localhost"), {}, b"", SYSTEM)).close()

        assert got == [b"a", b"b", b"a", b"b"]
        assert (len(a.peers), len(b.peers)) == (2, 1)


async def test_connections_that_end_are_forgotten(client: HttpClient) -> None:
    async with serving(once(answer(b"x", b"Connection: close"))) as site:
        for _ in range(20):
            await call(client, site)
        (pool,) = client._pools.values()

        await until(lambda: not pool._all)
        assert not connections_to(site.port)


async def test_origins_that_nobody_uses_are_forgotten(client: HttpClient) -> None:
    for _ in range(10):
        async with serving(serve(answer(b"x"))) as site:
            await call(client, site)
        await turns()

    assert len(client._pools) == 1


async def test_an_origin_is_not_forgotten_while_it_is_being_connected_to(
    client: HttpClient,
) -> None:
    async with serving(serve(answer(b"x"))) as a, serving(serve(answer(b"x"))) as b:
        async with asyncio.TaskGroup() as tasks:
            start(tasks, client, a)
            start(tasks, client, b)

        assert len(client._pools) == 2


Work = Callable[[HttpClient, Url], Coroutine[Any, Any, object]]
Place = Callable[[], AbstractAsyncContextManager[Url]]


async def _post(client: HttpClient, url: Url) -> object:
    return await client.send("POST", url, {}, b"x" * 8 * MEGABYTE, SYSTEM)


async def _read(client: HttpClient, url: Url) -> object:
    response = await client.send("POST", url, {}, b"{}", SYSTEM)
    try:
        return await response.read(99)
    finally:
        response.close()


async def _stream(client: HttpClient, url: Url) -> object:
    response = await client.send("POST", url, {}, b"{}", SYSTEM)
    try:
        return [piece async for piece in response.chunks()]
    finally:
        response.close()


def _at(script: Script) -> Place:
    @asynccontextmanager
    async def place() -> AsyncIterator[Url]:
        async with serving(script) as site:
            yield site.url

    return place


@asynccontextmanager
async def _deaf() -> AsyncIterator[Url]:
    with deaf() as url:
        yield url


@asynccontextmanager
async def _without_handshake() -> AsyncIterator[Url]:
    async with serving(Peer.gone) as site:
        yield parse(f"https://127.0.0.1:{site.port}/")


async def _silent(peer: Peer) -> None:
    await peer.request()
    await peer.gone()


async def _takes_nothing(peer: Peer) -> None:
    peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
    await peer.writer.wait_closed()


HALF = OK + b"Content-Length: 9\r\n\r\nhalf"
PHASES = [
    pytest.param(_deaf, _post, id="connecting"),
    pytest.param(_without_handshake, _post, id="handshake"),
    pytest.param(_at(_takes_nothing), _post, id="sending"),
    pytest.param(_at(_silent), _post, id="waiting"),
    pytest.param(_at(once(HALF)), _read, id="reading"),
    pytest.param(_at(once(HALF)), _stream, id="streaming"),
    pytest.param(_at(once(OK + b"\r\nhalf")), _stream, id="streaming until close"),
]


@pytest.mark.parametrize(("place", "work"), PHASES)
async def test_a_call_that_is_cancelled_leaves_no_connection(
    client: HttpClient, place: Place, work: Work
) -> None:
    async with place() as url:
        before = connections_to(url.port)
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(work(client, url))
            await until(lambda: connections_to(url.port) > before)
            await moment()
            working.cancel()

        assert working.cancelled()
        await until(lambda: connections_to(url.port) == before)
        assert all(pool.is_unused for pool in client._pools.values())


@pytest.mark.parametrize(("place", "work"), PHASES)
async def test_a_client_that_is_closed_ends_its_calls(
    client: HttpClient, place: Place, work: Work
) -> None:
    async with place() as url:
        before = connections_to(url.port)
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(_outcome(work(client, url)))
            await until(lambda: connections_to(url.port) > before)
            await moment()
            await client.close()
            is_connecting = not working.done() and (await _still(working))
            if is_connecting:
                working.cancel()

        if not is_connecting:
            assert isinstance(working.result(), NetError)
        await until(lambda: connections_to(url.port) == before)


async def _outcome(work: Coroutine[Any, Any, object]) -> object:
    try:
        return await work
    except NetError as error:
        return error


async def _still(task: asyncio.Task[object]) -> bool:
    await turns()
    return not task.done()


async def test_a_connection_that_comes_after_the_end_is_closed(client: HttpClient) -> None:
    async with serving(serve(answer(b"x"))) as site:
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(_outcome(_read(client, site.url)))
            await asyncio.sleep(0)
            await client.close()

        error = working.result()
        assert isinstance(error, NetError)
        assert not error.sent
        await until(lambda: not connections_to(site.port))
        assert all(not each.requests for each in site.peers.all)


async def test_a_closed_client_opens_nothing(client: HttpClient) -> None:
    async with serving(serve(answer(b"x"))) as site:
        await call(client, site)
        await client.close()
        error = await failed(client, site)

        assert (error.stage, error.sent) == ("connect", False)
        assert len(site.peers) == 1


async def test_a_reader_that_is_slow_makes_the_server_wait(client: HttpClient) -> None:
    sent = 0

    async def generous(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        peer.writer.write(OK + b"Content-Length: %d\r\n\r\n" % (100 * MEGABYTE))
        for _ in range(100):
            peer.writer.write(b"x" * MEGABYTE)
            await peer.writer.drain()
            sent += MEGABYTE
        await peer.serve(answer(b"next"))

    async with serving(generous) as site:
        response = await client.send("POST", site.url, {}, b"{}", SYSTEM)
        await _stalls(lambda: sent)
        assert sent < 20 * MEGABYTE
        assert response.held <= MEGABYTE

        size = largest = 0
        async for piece in response.chunks():
            size, largest = size + len(piece), max(largest, len(piece), response.held)
            await asyncio.sleep(0)

        assert size == 100 * MEGABYTE
        assert largest <= MEGABYTE
        assert await call(client, site) == Got(200, b"next")
        assert len(site.peers) == 1


async def _stalls(progress: Callable[[], int]) -> None:
    before = -1
    while before != progress():
        before = progress()
        for _ in range(20):
            await moment()


async def test_a_slow_reader_of_an_answer_does_not_hold_up_the_next_one(
    client: HttpClient,
) -> None:
    large = answer(b"x" * MEGABYTE)

    async with serving(serve(large, answer(b"second" * MEGABYTE))) as site:
        first = await client.send("POST", site.url, {}, b"{}", SYSTEM)
        pieces = first.chunks()
        size = len(await anext(pieces))
        await until(lambda: first._is_whole or first.held > 2**18)
        size += sum([len(piece) async for piece in pieces])
        second = await client.send("POST", site.url, {}, b"{}", SYSTEM)

        assert size == MEGABYTE
        assert len(await second.read(9 * MEGABYTE)) == 6 * MEGABYTE


async def test_a_large_body_that_is_read_whole_is_not_slowed_down(client: HttpClient) -> None:
    async with serving(once(answer(b"x" * 10 * MEGABYTE), then=Peer.close)) as site:
        assert len((await call(client, site, limit=10 * MEGABYTE)).body) == 10 * MEGABYTE
