"""A gateway that serves https: real clients, and a certificate that is exchanged under them."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from cryptography import x509
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.journeys.pairs import CLIENTS, in_both_fronts
from tests.support.authority import certificate, ec_key, plain, put, rsa_key
from tests.support.backends import serving
from tests.support.clients import Way, named, sessioned, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import moment

ROOT = ("root", ec_key("root"))
OLD, NEW = certificate("old", ec_key(), ROOT), certificate("new", rsa_key(), ROOT)


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=certificate(*ROOT))


def settings(fake: SessionedFake, folder: Path, chain: str, key: str) -> dict[str, Any]:
    return config(fake, server={"tls": put(folder, chain, key)})


@pytest.mark.config_key("server.tls.certFile", "server.tls.keyFile")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_works_over_https(tmp_path: Path, mode: str) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(settings(fake, tmp_path, OLD, plain(ec_key()))) as served,
        httpx2.AsyncClient(verify=trusting()) as http,
        Client(streamable_http_client(served.url, http_client=http), mode=mode) as client,
    ):
        result = await client.call_tool("echo", {})

    assert served.url.startswith("https://127.0.0.1:")
    assert not result.is_error


@in_both_fronts
async def test_calls_and_streams_outlive_a_certificate(tmp_path: Path, front: str) -> None:
    fake = SessionedFake()
    way = Way(tls=trusting())
    async with (
        serving(fake),
        gateway_of(settings(fake, tmp_path, OLD, plain(ec_key()))) as served,
        sessioned(served.url, way=way) as listener,
    ):
        stream = await listener.listen()
        served.apply(settings(fake, tmp_path, NEW, plain(rsa_key())))
        while await asyncio.to_thread(shown, served.url) != "new":
            await moment()

        async with CLIENTS[front](served.url, way=way) as caller:
            assert words(await caller.ask("tools/call", named("echo")))
        fake.shelf.tools["later"] = fake.shelf.tools["echo"]
        fake.tell("notifications/tools/list_changed")
        assert await stream.heard("notifications/tools/list_changed")


def shown(url: str) -> str:
    port = urlsplit(url).port or 443
    chain = ssl.get_server_certificate(("127.0.0.1", port), timeout=5)
    (name,) = x509.load_pem_x509_certificate(chain.encode()).subject
    return str(name.value)
