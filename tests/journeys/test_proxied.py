"""A gateway whose environment names a proxy: its backends are reached by it, and its password is shown nowhere."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.net.certificates import authority, identity
from tests.support.clients import named, stateless, words
from tests.support.proxy import FakeProxy, proxying
from tests.support.scripted import STATELESS, Scripted
from tests.support.servers import Gateway, in_thread, run_gateway

NAME = "backend.test"
PASSWORD = "canary-sesame"

REFUSING = b"HTTP/1.1 407 Auth\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def launched(url: str, proxy: FakeProxy, **backend: Any) -> AsyncIterator[Gateway]:
    at = f"http://me:{PASSWORD}@127.0.0.1:{proxy.port}"
    settings = {
        "backends": [{"name": "a", "url": url, **backend}],
        "operational": {"logLevel": "debug"},
    }
    env = {"HTTP_PROXY": at, "https_proxy": at, "NO_PROXY": "other.test"}
    async with in_thread(run_gateway(json.dumps(settings), env=env)) as gateway:
        yield gateway


async def shown_by(gateway: Gateway) -> str:
    """Return what a gateway tells of itself to operators and in its log."""
    async with aiohttp.ClientSession() as http:
        shown = [
            await (await http.get(f"{gateway.ops_url}/{path}")).text()
            for path in ("status", "metrics")
        ]
    return "\n".join([*shown, gateway.process.log.read_text()])


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_backends_are_reached_by_the_proxy_of_the_environment(scheme: str) -> None:
    backend = Scripted(STATELESS)
    tls = identity(NAME, signer=authority()).server() if scheme == "https" else None
    trust = {} if tls is None else {"caBundle": authority().pem}

    async with backend.serving(tls=tls), proxying() as proxy:
        url = f"{scheme}://{NAME}:{backend.port}/mcp"
        async with launched(url, proxy, **trust) as gateway, stateless(gateway.url) as caller:
            assert words(await caller.ask("tools/call", named("a_echo"))) == "echo"
            shown = await shown_by(gateway)

    assert all(b"Proxy-Authorization: Basic " in head for head in proxy.heads)
    assert PASSWORD not in shown


async def test_a_proxy_that_refuses_us_is_told_by_its_variable() -> None:
    async with (
        proxying(REFUSING) as proxy,
        launched(f"http://{NAME}/mcp", proxy) as gateway,
        stateless(gateway.url) as caller,
    ):
        error = await caller.refused("tools/call", named("a_echo"))
        async with aiohttp.ClientSession() as http:
            status = await (await http.get(f"{gateway.ops_url}/status")).json()
        shown = await shown_by(gateway)

    (backend,) = status["backends"]
    assert error["code"] == -32602
    assert "the proxy of HTTP_PROXY: it refuses our credentials (status 407)" in str(backend)
    assert PASSWORD not in shown
    assert str(proxy.port) not in str(backend)
