"""What time does to connections: how long an idle one is kept, and how long one may take to come about."""

from __future__ import annotations

import asyncio

import pytest

from tests.net.calls import Got, call, start
from tests.net.raw import Peer, answer, connections_to, deaf, once, serve, serving, turns
from tests.net.skipping import skip
from tests.support.waiting import until
from vmcp.net.client import HttpClient
from vmcp.net.errors import NetError
from vmcp.net.tls import SYSTEM
from vmcp.net.url import parse


async def test_a_connection_is_used_again_within_four_seconds(client: HttpClient) -> None:
    async with serving(serve(answer(b"x")), seconds=None) as site:
        for _ in range(5):
            await call(client, site)
            skip(3)
            await turns()
        await call(client, site)

        assert len(site.peers) == 1


async def test_a_connection_that_was_idle_for_four_seconds_is_not_used(client: HttpClient) -> None:
    async with serving(serve(answer(b"x")), seconds=None) as site:
        await call(client, site)
        skip(4.1)
        await call(client, site)

        assert len(site.peers) == 2
        await until(lambda: connections_to(site.port) == 1)


async def test_a_connection_that_nobody_uses_is_closed(client: HttpClient) -> None:
    async with serving(once(answer(b"x")), seconds=None) as site:
        await call(client, site)
        skip(4.1)

        await until(lambda: not connections_to(site.port))
        (pool,) = client._pools.values()
        assert pool.is_unused


async def test_those_that_are_used_stay_when_the_others_are_closed(client: HttpClient) -> None:
    async with serving(serve(answer(b"x")), seconds=None) as site:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(5):
                start(tasks, client, site)
        assert connections_to(site.port) == 5
        for _ in range(3):
            skip(2)
            await turns()
            await call(client, site)

        await until(lambda: connections_to(site.port) == 1)
        assert len(site.peers) == 5
        skip(8)
        await until(lambda: connections_to(site.port) == 0)


async def test_a_call_may_take_longer_than_an_idle_connection_lasts(client: HttpClient) -> None:
    async def slow(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            skip(100)
            await turns()
            await peer.say(answer(b"late"))
        await peer.gone()

    async with serving(slow, seconds=None) as site:
        assert await call(client, site) == Got(200, b"late")
        assert await call(client, site) == Got(200, b"late")

        assert len(site.peers) == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_connection_has_four_seconds_to_come_about(client: HttpClient, scheme: str) -> None:
    with deaf() as place:
        url = parse(f"{scheme}://127.0.0.1:{place.port}/")
        error = await _times_out(client.send("POST", url, {}, b"{}", SYSTEM))

    assert (error.stage, error.sent) == ("connect", False)
    assert str(error) == "no connection in time"


async def test_a_handshake_has_four_seconds_too(client: HttpClient) -> None:
    async with serving(Peer.gone, seconds=None) as site:
        url = parse(f"https://127.0.0.1:{site.port}/")
        error = await _times_out(client.send("POST", url, {}, b"{}", SYSTEM))

        assert (error.stage, error.sent) == ("connect", False)
        await until(lambda: not connections_to(site.port))


async def _times_out(sending: object) -> NetError:
    assert asyncio.iscoroutine(sending)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(_error(sending))
        await turns()
        skip(3)
        await turns()
        assert not task.done()
        skip(1.5)
    return task.result()


async def _error(sending: object) -> NetError:
    assert asyncio.iscoroutine(sending)
    with pytest.raises(NetError) as error:
        await sending
    return error.value
