"""Servers that ask who we are: a certificate is shown, changed, and its refusal is told in words."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)

from tests.net.calls import Got
from tests.net.certificates import Identity, authority, identity
from tests.net.raw import Site, answer, serve, serving
from vmcp.model.backend import ClientCert
from vmcp.model.secret import Secret
from vmcp.net.client import HttpClient
from vmcp.net.errors import NetError
from vmcp.net.tls import Trust, context
from vmcp.net.url import Url, parse


def us(name: str = "gateway", signer: str = "clients", days: int = 30) -> Identity:
    return identity(name, signer=authority(signer), days=days)


def wanting(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    made = identity("127.0.0.1", signer=authority()).server(clients=authority("clients").pem)
    made.maximum_version = version
    return made


def trust(shown: Identity | None) -> Trust:
    return Trust(authority().pem, None if shown is None else shown.shown)


@contextmanager
def telling(tls: ssl.SSLContext) -> Iterator[Url]:
    """Give a server that tells why it ends TLS, which those of asyncio do not."""

    def serve_one() -> None:
        taken, _ = listener.accept()
        with taken, suppress(OSError):
            with suppress(ssl.SSLError):
                tls.wrap_socket(taken.dup(), server_side=True)
            # What nobody has read would reset the connection, and with it what was said.
            taken.shutdown(socket.SHUT_WR)
            while taken.recv(2**16):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_one)
        thread.start()
        yield parse(f"https://127.0.0.1:{listener.getsockname()[1]}/")
        thread.join()


async def call(client: HttpClient, site: Site, shown: Identity | None) -> Got:
    response = await client.send("POST", site.url, {}, b"{}", trust(shown))
    try:
        return Got(response.status, await response.read(2**20))
    finally:
        response.close()


VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


@VERSIONS
async def test_a_certificate_is_shown_to_who_asks(
    client: HttpClient, version: ssl.TLSVersion
) -> None:
    async with serving(serve(answer(b"x")), tls=wanting(version)) as site:
        for _ in range(2):
            assert await call(client, site, us()) == Got(200, b"x")

        assert len(site.peers) == 1


async def test_the_chain_of_a_certificate_goes_with_it(client: HttpClient) -> None:
    middle = authority("middle of clients", authority("clients"))

    async with serving(serve(answer(b"x")), tls=wanting()) as site:
        assert await call(client, site, identity("gateway", signer=middle)) == Got(200, b"x")


@VERSIONS
@pytest.mark.parametrize(
    ("shown", "words"),
    [
        pytest.param(lambda: None, "wants a client certificate", id="none"),
        pytest.param(lambda: us(signer="others"), "client certificate", id="another issuer"),
        pytest.param(lambda: us(days=-1), "client certificate", id="expired"),
    ],
)
async def test_a_server_that_does_not_take_us_is_told_in_words(
    client: HttpClient,
    version: ssl.TLSVersion,
    shown: Callable[[], Identity | None],
    words: str,
) -> None:
    with telling(wanting(version)) as url, pytest.raises(NetError) as error:
        await client.send("POST", url, {}, b"{}", trust(shown()))

    assert error.value.stage == "tls"
    assert words in str(error.value)


async def test_a_new_certificate_means_a_new_connection(client: HttpClient) -> None:
    async with serving(serve(answer(b"x")), tls=wanting()) as site:
        await call(client, site, us("old"))
        await call(client, site, us("new"))

        names = [
            peer.writer.get_extra_info("peercert")["subject"][0][0][1] for peer in site.peers.all
        ]
        assert names == ["old", "new"]


def test_a_key_that_does_not_fit_is_told_without_showing_it() -> None:
    wrong = ClientCert(us().pem, Secret(us("other").key_pem))

    with pytest.raises(NetError, match="certificate and its key cannot be used") as error:
        context(Trust(client_cert=wrong))

    assert error.value.stage == "tls"


def test_a_key_with_a_passphrase_asks_nobody_for_it() -> None:
    key = us().key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"sesame")
    )

    with pytest.raises(NetError, match="cannot be used"):
        context(Trust(client_cert=ClientCert(us().pem, Secret(key.decode()))))


def test_a_key_lies_nowhere_once_it_was_read() -> None:
    before = set(Path("/proc/self/fd").iterdir())

    context(Trust(client_cert=us("fresh").shown))

    assert set(Path("/proc/self/fd").iterdir()) <= before


def test_a_trust_shows_no_key() -> None:
    shown = repr(trust(us()))

    assert "PRIVATE" not in shown
    assert us().key_pem.splitlines()[1] not in shown
