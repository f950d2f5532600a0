"""Whom the client trusts over TLS, and what it makes of an end that TLS was not told of."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

import pytest

from tests.net.calls import Got
from tests.net.certificates import Identity, authority, identity
from tests.net.raw import (
    OK,
    Peer,
    Site,
    answer,
    chunked,
    closed_port,
    connections_to,
    once,
    serve,
    serving,
    turns,
)
from tests.support.waiting import until
from vmcp.net.client import HttpClient
from vmcp.net.errors import NetError
from vmcp.net.tls import SYSTEM, Trust, context
from vmcp.net.url import Url, parse

MEGABYTE = 2**20
# What one turn of the loop reads at most, and what is read before.
WAITING = 9 * MEGABYTE


def trusted() -> Identity:
    return identity("localhost", "127.0.0.1", signer=authority())


async def call(
    client: HttpClient, url: Url, ca_bundle: str | None, limit: int = 16 * MEGABYTE
) -> Got:
    response = await client.send("POST", url, {}, b"{}", Trust(ca_bundle))
    try:
        return Got(response.status, await response.read(limit))
    finally:
        response.close()


async def failed(client: HttpClient, url: Url, ca_bundle: str | None) -> NetError:
    with pytest.raises(NetError) as error:
        await call(client, url, ca_bundle)
    return error.value


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_private_authority_is_trusted_by_its_certificate(
    client: HttpClient, host: str
) -> None:
    async with serving(serve(answer(b"x")), tls=trusted().server()) as site:
        for _ in range(3):
            assert await call(client, site.at(host), authority().pem) == Got(200, b"x")

        assert len(site.peers) == 1


async def test_a_bundle_may_hold_many_certificates(client: HttpClient) -> None:
    bundle = authority("another").pem + authority().pem

    async with serving(serve(answer(b"x")), tls=trusted().server()) as site:
        assert await call(client, site.url, bundle) == Got(200, b"x")


async def test_a_certificate_may_be_trusted_itself(client: HttpClient) -> None:
    own = identity("127.0.0.1")

    async with serving(serve(answer(b"x")), tls=own.server()) as site:
        assert await call(client, site.url, own.pem) == Got(200, b"x")


@pytest.mark.parametrize("which", ["intermediate", "leaf"])
async def test_trust_may_begin_below_the_root(client: HttpClient, which: str) -> None:
    middle = authority("middle", authority())
    leaf = identity("127.0.0.1", signer=middle)
    bundle = middle.pem if which == "intermediate" else leaf.pem

    async with serving(serve(answer(b"x")), tls=leaf.server()) as site:
        assert await call(client, site.url, bundle) == Got(200, b"x")


async def test_an_old_authority_in_a_bundle_is_accepted(client: HttpClient) -> None:
    old = authority("old", old=True)
    leaf = identity("127.0.0.1", signer=old, old=True)

    async with serving(serve(answer(b"x")), tls=leaf.server()) as site:
        assert await call(client, site.url, old.pem) == Got(200, b"x")


def test_without_a_bundle_certificates_are_checked_as_python_does() -> None:
    plain = ssl.create_default_context()

    assert context(SYSTEM).verify_flags == plain.verify_flags
    for bundle in (None, authority().pem):
        assert context(Trust(bundle)).verify_mode is ssl.CERT_REQUIRED
        assert context(Trust(bundle)).check_hostname
        assert context(Trust(bundle)).minimum_version == plain.minimum_version
    assert not context(Trust(authority().pem)).verify_flags & ssl.VERIFY_X509_STRICT


def test_a_bundle_stands_beside_the_roots_of_the_system() -> None:
    plain = context(SYSTEM).cert_store_stats()

    assert context(Trust(authority().pem)).cert_store_stats()["x509_ca"] == plain["x509_ca"] + 1


def test_equal_bundles_share_what_is_made_of_them() -> None:
    assert context(Trust(authority().pem)) is context(Trust(str(authority().pem.encode(), "ascii")))
    assert context(SYSTEM) is not context(Trust(authority().pem))


REFUSED = [
    pytest.param(trusted, None, "127.0.0.1", "its issuer is unknown", id="unknown"),
    pytest.param(
        trusted,
        authority("another").pem,
        "127.0.0.1",
        "its issuer is unknown",
        id="another authority",
    ),
    pytest.param(
        lambda: identity("127.0.0.1"), None, "127.0.0.1", "it is self-signed", id="self-signed"
    ),
    pytest.param(
        lambda: identity("other.test", signer=authority()),
        authority().pem,
        "localhost",
        "it is for another host name",
        id="another name",
    ),
    pytest.param(
        lambda: identity("localhost", signer=authority()),
        authority().pem,
        "127.0.0.1",
        "it is for another IP address",
        id="a name for an address",
    ),
    pytest.param(
        lambda: identity("127.0.0.1", signer=authority()),
        authority().pem,
        "localhost",
        "it is for another host name",
        id="an address for a name",
    ),
    pytest.param(
        lambda: identity("127.0.0.1", signer=authority(), days=-1),
        authority().pem,
        "127.0.0.1",
        "it has expired",
        id="expired",
    ),
]


@pytest.mark.parametrize(("server", "bundle", "host", "words"), REFUSED)
async def test_who_is_not_trusted_gets_no_request(
    client: HttpClient, server: partial[Identity], bundle: str | None, host: str, words: str
) -> None:
    async with serving(serve(answer(b"x")), tls=server().server()) as site:
        error = await failed(client, site.at(host), bundle)

        assert (error.stage, error.sent) == ("tls", False)
        assert f"certificate is not trusted: {words}" in str(error)
        assert not any(each.requests for each in site.peers.all)
        await until(lambda: not connections_to(site.port))


async def test_origins_with_other_trust_share_no_connection(client: HttpClient) -> None:
    async with serving(serve(answer(b"x")), tls=trusted().server()) as site:
        await call(client, site.url, authority().pem)

        assert (await failed(client, site.url, None)).stage == "tls"


async def test_plain_http_on_the_port_of_tls_is_told(client: HttpClient) -> None:
    async with serving(serve(answer(b"x"))) as site:
        url = parse(f"https://127.0.0.1:{site.port}/")

        async with asyncio.TaskGroup() as tasks:
            failing = tasks.create_task(failed(client, url, None))
            peer = await site.peers.nth(1, lambda _: True)
            await peer.say(answer(status=400))

    error = failing.result()
    assert (error.stage, error.sent) == ("tls", False)
    assert str(error) == "what answers speaks no TLS"


async def test_tls_on_the_port_of_plain_http_is_no_answer(client: HttpClient) -> None:
    async with serving(serve(answer(b"x")), tls=trusted().server()) as site:
        error = await failed(client, parse(f"http://127.0.0.1:{site.port}/"), None)

    assert error.stage in ("send", "read")


@pytest.mark.parametrize("end", [Peer.close, Peer.reset])
async def test_an_end_in_the_handshake_is_told(client: HttpClient, end: partial[None]) -> None:
    async def ends(peer: Peer) -> None:
        await peer.reader.readexactly(1)
        end(peer)

    async with serving(ends) as site:
        error = await failed(client, parse(f"https://127.0.0.1:{site.port}/"), None)

    assert error.stage in ("connect", "tls")
    assert not error.sent
    assert str(error) in ("the connection was closed in the handshake", "Connection reset by peer")


async def test_a_refused_connection_is_no_matter_of_tls(client: HttpClient) -> None:
    error = await failed(client, parse(f"https://127.0.0.1:{closed_port()}/"), None)

    assert (error.stage, str(error)) == ("connect", "Connection refused")


@pytest.mark.parametrize("bundle", ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAA==\n-----END"])
async def test_a_bundle_that_is_none_is_told(client: HttpClient, bundle: str) -> None:
    error = await failed(client, parse(f"https://127.0.0.1:{closed_port()}/"), bundle)

    assert (error.stage, error.sent) == ("tls", False)


async def test_only_http_1_1_is_offered(client: HttpClient) -> None:
    server = trusted().server()
    server.set_alpn_protocols(["h2", "http/1.1"])

    async with serving(serve(answer(b"x")), tls=server) as site:
        await call(client, site.url, authority().pem)

        tls = site.peers.all[0].writer.get_extra_info("ssl_object")
        assert tls.selected_alpn_protocol() == "http/1.1"


UNTIL_CLOSE = OK + b"\r\n" + b"x" * 1000


async def test_a_body_until_the_end_is_whole_when_tls_is_told(client: HttpClient) -> None:
    async with serving(once(UNTIL_CLOSE, then=Peer.close), tls=trusted().server()) as site:
        assert (await call(client, site.url, authority().pem)).body == b"x" * 1000
        assert await streamed(client, site) == b"x" * 1000


@pytest.mark.parametrize("end", [Peer.cut, Peer.reset])
async def test_a_body_until_the_end_is_half_when_tls_is_not_told(
    client: HttpClient, end: partial[None]
) -> None:
    async with serving(once(UNTIL_CLOSE, then=end), tls=trusted().server()) as site:
        error = await failed(client, site.url, authority().pem)
        assert (error.stage, error.sent) == ("read", True)

        with pytest.raises(NetError):
            await streamed(client, site)


@pytest.mark.parametrize("end", [Peer.close, Peer.cut])
@pytest.mark.parametrize(
    "raw",
    [
        answer(b"x" * 1000, b"Connection: close"),
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"x" * 1000),
    ],
    ids=["length", "chunked"],
)
async def test_a_body_that_tells_its_end_needs_no_end_of_tls(
    client: HttpClient, raw: bytes, end: partial[None]
) -> None:
    async with serving(once(raw, then=end), tls=trusted().server()) as site:
        for _ in range(3):
            assert (await call(client, site.url, authority().pem)).body == b"x" * 1000
            await until(lambda: is_gone(client, site))


@pytest.mark.parametrize("end", [Peer.close, Peer.cut])
async def test_half_a_body_is_an_error_over_tls_too(client: HttpClient, end: partial[None]) -> None:
    half = OK + b"Content-Length: 9\r\n\r\nhalf"

    async with serving(once(half, then=end), tls=trusted().server()) as site:
        assert (await failed(client, site.url, authority().pem)).stage == "read"


@pytest.mark.parametrize("end", [Peer.close, Peer.cut])
async def test_a_connection_that_ended_while_idle_is_not_used(
    client: HttpClient, end: partial[None]
) -> None:
    first = once(answer(b"first"), then=end)

    async with serving(first, serve(answer(b"next")), tls=trusted().server()) as site:
        assert (await call(client, site.url, authority().pem)).body == b"first"
        await until(lambda: is_gone(client, site))
        assert (await call(client, site.url, authority().pem)).body == b"next"


def is_gone(client: HttpClient, site: Site) -> bool:
    """Tell whether all connections have ended, and the client has heard so: its loop tells it a moment later."""
    return not connections_to(site.port) and not any(each._all for each in client._pools.values())


async def streamed(client: HttpClient, site: Site) -> bytes:
    response = await client.send("POST", site.url, {}, b"{}", Trust(authority().pem))
    try:
        found = bytearray()
        async for piece in response.chunks():
            found += piece
            # A reader that is slower than the server.
            await turns()
        return bytes(found)
    finally:
        response.close()


@pytest.mark.parametrize("size", [300_000, 500_000, 700_000, MEGABYTE, 8 * MEGABYTE])
@pytest.mark.parametrize("kind", ["length", "until close"])
async def test_a_large_body_right_before_the_end_is_whole(
    client: HttpClient, size: int, kind: str
) -> None:
    body = bytes(range(250)) * (size // 250)
    raw = answer(body, b"Connection: close") if kind == "length" else OK + b"\r\n" + body

    async with serving(once(raw, then=Peer.close), tls=trusted().server()) as site:
        assert (await call(client, site.url, authority().pem)).body == body
        assert await streamed(client, site) == body


@contextmanager
def rude(tls: ssl.SSLContext, raw: bytes) -> Iterator[Url]:
    """Serve in a thread of its own, which sends as fast as it can and goes without a word."""

    def serve_all() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                with suppress(OSError), tls.wrap_socket(connection, server_side=True) as one:
                    one.recv(2**16)
                    one.sendall(raw)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve_all)
        thread.start()
        try:
            yield parse(f"https://127.0.0.1:{server.getsockname()[1]}/")
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("size", [700_000, 3 * MEGABYTE])
async def test_a_large_stream_right_before_a_rude_end_is_whole(
    client: HttpClient, size: int
) -> None:
    with rude(trusted().server(), answer(bytes(size), b"Connection: close")) as url:
        for _ in range(5):
            response = await client.send("POST", url, {}, b"{}", Trust(authority().pem))
            assert sum([len(piece) async for piece in response.chunks()]) == size


async def test_a_slow_reader_makes_the_server_wait_over_tls_too(client: HttpClient) -> None:
    sent = 0

    async def generous(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        peer.writer.write(OK + b"Content-Length: %d\r\n\r\n" % (30 * MEGABYTE))
        for _ in range(30):
            peer.writer.write(b"x" * MEGABYTE)
            await peer.writer.drain()
            sent += MEGABYTE
        await peer.gone()

    async with serving(generous, tls=trusted().server()) as site:
        response = await client.send("POST", site.url, {}, b"{}", Trust(authority().pem))
        await until(lambda: response.held > 2**18)
        for _ in range(50):
            await turns()
        assert response.held <= WAITING
        assert sent < 20 * MEGABYTE

        size = 0
        async for piece in response.chunks():
            size += len(piece)
            assert response.held <= WAITING
        response.close()

    assert size == 30 * MEGABYTE


def test_a_bundle_alone_is_trusted_without_the_roots_of_the_system() -> None:
    alone = context(Trust(authority().pem, is_bundle_only=True))

    assert len(alone.get_ca_certs()) == 1
    assert alone.verify_mode is ssl.CERT_REQUIRED
    assert alone.check_hostname
