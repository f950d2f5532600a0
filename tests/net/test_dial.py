"""Requests by a proxy, read on the way or through a tunnel, and what its failures are called."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from tests.net.calls import Got
from tests.net.certificates import authority, identity
from tests.net.raw import Site, answer, closed_port, serve, serving
from tests.support.proxy import FakeProxy, proxying
from vmcp.net.client import HttpClient
from vmcp.net.errors import NetError
from vmcp.net.proxies import proxies
from vmcp.net.tls import Trust
from vmcp.net.url import Url, parse

NAME = "backend.test"
TRUST = Trust(authority().pem)


@asynccontextmanager
async def client_by(**environment: str) -> AsyncIterator[HttpClient]:
    made = HttpClient("vmcp-test", proxies(environment))
    try:
        yield made
    finally:
        await made.close()


def server_tls() -> ssl.SSLContext:
    return identity(NAME, signer=authority()).server()


async def call(client: HttpClient, url: Url, headers: Mapping[str, str] | None = None) -> Got:
    response = await client.send("POST", url, headers or {}, b"{}", TRUST)
    try:
        return Got(response.status, await response.read(2**20))
    finally:
        response.close()


async def failed(client: HttpClient, url: Url) -> NetError:
    with pytest.raises(NetError) as error:
        await call(client, url)
    assert "sesame" not in str(error.value)
    assert "proxy.test" not in str(error.value)
    return error.value


def at(proxy: FakeProxy, *, user: str = "") -> str:
    return f"http://{user}127.0.0.1:{proxy.port}"


async def test_a_request_to_http_names_the_whole_url_to_the_proxy() -> None:
    async with (
        serving(serve(answer(b"x"))) as site,
        proxying() as proxy,
        client_by(HTTP_PROXY=at(proxy, user="me:sesame@")) as client,
    ):
        for _ in range(2):
            assert await call(client, site.at(NAME, "/mcp?a")) == Got(200, b"x")

        place = f"{NAME}:{site.port}".encode()
        assert proxy.heads[0].startswith(
            b"POST http://%b/mcp?a HTTP/1.1\r\nHost: %b\r\n"
            b"Proxy-Authorization: Basic bWU6c2VzYW1l\r\n" % (place, place)
        )
        assert proxy.opened == len(site.peers) == 1
        assert b"sesame" not in b"".join(site.peers.all[0].requests)


async def test_a_request_to_https_goes_through_a_tunnel() -> None:
    async with (
        serving(serve(answer(b"x")), tls=server_tls()) as site,
        proxying() as proxy,
        client_by(HTTPS_PROXY=at(proxy, user="me:sesame@")) as client,
    ):
        for _ in range(2):
            assert await call(client, site.at(NAME)) == Got(200, b"x")

        place = f"{NAME}:{site.port}".encode()
        assert proxy.heads == [
            b"CONNECT %b HTTP/1.1\r\nHost: %b\r\nProxy-Authorization: Basic bWU6c2VzYW1l\r\n\r\n"
            % (place, place)
        ]
        assert all(b"roxy" not in each for each in site.peers.all[0].requests)
        assert site.peers.all[0].requests[0].startswith(b"POST /mcp HTTP/1.1\r\n")


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_may_be_reached_by_tls(
    scheme: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    roots = tmp_path_factory.mktemp("roots") / "ca.pem"
    roots.write_text(authority("proxies").pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(roots))
    from vmcp.net.tls import context  # noqa: PLC0415 - what it keeps is forgotten around this test

    context.cache_clear()
    tls = identity("127.0.0.1", signer=authority("proxies")).server()
    async with (
        serving(serve(answer(b"x")), tls=server_tls() if scheme == "https" else None) as site,
        proxying(tls=tls) as proxy,
        client_by(ALL_PROXY=f"https://127.0.0.1:{proxy.port}") as client,
    ):
        assert await call(client, site.at(NAME)) == Got(200, b"x")
    context.cache_clear()


async def test_a_large_body_goes_through_a_tunnel_and_back() -> None:
    body = b"x" * 2**20

    async with (
        serving(serve(answer(body)), tls=server_tls()) as site,
        proxying() as proxy,
        client_by(HTTPS_PROXY=at(proxy)) as client,
    ):
        assert await call(client, site.at(NAME)) == Got(200, body)


async def test_the_certificate_behind_a_tunnel_is_the_servers() -> None:
    tls = identity("other.test", signer=authority()).server()

    async with (
        serving(serve(answer(b"x")), tls=tls) as site,
        proxying() as proxy,
        client_by(HTTPS_PROXY=at(proxy)) as client,
    ):
        error = await failed(client, site.at(NAME))

    assert (error.stage, error.sent) == ("tls", False)
    assert "another host name" in str(error)


async def test_no_proxy_and_loopback_are_reached_directly() -> None:
    async with (
        serving(serve(answer(b"x"))) as site,
        proxying() as proxy,
        client_by(HTTP_PROXY=at(proxy)) as client,
    ):
        assert await call(client, site.url) == Got(200, b"x")
        assert proxy.heads == []


FAILING = [
    pytest.param(
        b"HTTP/1.1 407 Auth\r\nContent-Length: 0\r\n\r\n", "", "it wants credentials", id="407"
    ),
    pytest.param(
        b"HTTP/1.1 407 Auth\r\nContent-Length: 0\r\n\r\n",
        "me:sesame@",
        "it refuses our credentials",
        id="wrong credentials",
    ),
]
FAILING_TUNNELS = [
    *FAILING,
    pytest.param(
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "", "with status 502", id="502"
    ),
    pytest.param(b"HTTP/1.1 302 Found\r\n\r\n", "", "with status 302", id="redirect"),
    pytest.param(b"SSH-2.0-x\r\n\r\n", "", "no HTTP/1.1", id="no HTTP"),
    pytest.param(b"HTTP/1.1 200 OK\r\n\r\nmore", "", "more than an answer", id="more"),
    pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2**17, "", "does not end", id="endless"),
]


@pytest.mark.parametrize(("said", "user", "words"), FAILING)
async def test_a_proxy_that_reads_requests_and_refuses_us_is_named(
    said: bytes, user: str, words: str
) -> None:
    async with proxying(said) as proxy, client_by(HTTP_PROXY=at(proxy, user=user)) as client:
        error = await failed(client, parse(f"http://{NAME}/mcp"))

    assert error.stage == "proxy"
    assert str(error).startswith(f"the proxy of HTTP_PROXY: {words}")


@pytest.mark.parametrize(("said", "user", "words"), FAILING_TUNNELS)
async def test_a_proxy_that_opens_no_tunnel_is_named(said: bytes, user: str, words: str) -> None:
    async with proxying(said) as proxy, client_by(HTTPS_PROXY=at(proxy, user=user)) as client:
        error = await failed(client, parse(f"https://{NAME}/mcp"))

    assert (error.stage, error.sent) == ("proxy", False)
    assert str(error).startswith("the proxy of HTTPS_PROXY: ")
    assert words in str(error)


async def test_an_answer_that_the_proxy_may_have_given_says_so() -> None:
    async with (
        proxying(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n") as proxy,
        client_by(HTTP_PROXY=at(proxy)) as client,
    ):
        response = await client.send("POST", parse(f"http://{NAME}/"), {}, b"{}", TRUST)
        response.close()

    assert (response.status, response.proxy) == (502, "HTTP_PROXY")


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_away_is_named(scheme: str) -> None:
    async with client_by(ALL_PROXY=f"http://me:sesame@127.0.0.1:{closed_port()}") as client:
        error = await failed(client, parse(f"{scheme}://{NAME}/mcp"))

    assert (error.stage, error.sent) == ("proxy", False)
    assert str(error) == "the proxy of ALL_PROXY: Connection refused"


async def test_a_variable_that_names_no_proxy_is_named() -> None:
    async with client_by(ALL_PROXY="socks5://me:sesame@proxy.test") as client:
        error = await failed(client, parse(f"https://{NAME}/mcp"))

    assert str(error) == "the proxy of ALL_PROXY: its value is no http or https URL"


async def test_a_call_that_is_given_up_in_a_tunnel_leaves_nothing(proxy_site: Site) -> None:
    async with client_by(HTTPS_PROXY=f"http://127.0.0.1:{proxy_site.port}") as client:
        async with asyncio.TaskGroup() as tasks:
            calling = tasks.create_task(call(client, parse(f"https://{NAME}/mcp")))
            peer = await proxy_site.peers.nth(1, lambda _: True)
            await peer.reader.readuntil(b"\r\n\r\n")
            calling.cancel()
        await peer.gone()


@pytest.fixture
async def proxy_site() -> AsyncIterator[Site]:
    async def says_nothing(_: object) -> None:
        await asyncio.get_running_loop().create_future()

    async with serving(says_nothing) as site:
        yield site
