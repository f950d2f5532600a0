"""A gateway behind a proxy: what trusted proxies say of a request counts, and nothing that others say."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.backends import serving
from tests.support.clients import Way, named, sessioned, words
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import until

HOSTS = {"allowedHosts": ["mcp.example.test"]}
SAID = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Host": "mcp.example.test"}
BODY = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}
JSON = {"Accept": "application/json, text/event-stream"}


async def status(served: Served, headers: Mapping[str, str]) -> int:
    async with (
        aiohttp.ClientSession(headers={**JSON, **headers}) as http,
        http.post(served.url, json=BODY) as answer,
    ):
        return answer.status


@pytest.mark.config_key("server.allowedHosts[]", "server.trustedProxies[]")
@pytest.mark.parametrize(
    ("trusted", "served_as"),
    [(["127.0.0.0/8"], 200), (["*"], 200), (["10.0.0.0/8"], 421), ([], 421)],
    ids=["network", "every", "others", "none"],
)
async def test_the_host_that_the_client_called_is_the_one_that_counts(
    trusted: list[str], served_as: int
) -> None:
    async with gateway_of(config(server={**HOSTS, "trustedProxies": trusted})) as served:
        forwarded = await status(served, SAID)
        direct = await status(served, {})

    assert (forwarded == 421, direct) == (served_as == 421, 421)


async def test_the_log_names_the_client_and_not_the_proxy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "keys").write_text(f"ada: {'a' * 40}\n")
    auth = {"type": "api_key", "keysFile": str(tmp_path / "keys")}
    server = {**HOSTS, "trustedProxies": ["127.0.0.1"]}
    with caplog.at_level(logging.WARNING):
        async with gateway_of(config(incomingAuth=auth, server=server)) as served:
            assert await status(served, SAID) == 401

    (line,) = [each for each in caplog.records if "known credential" in each.message]
    assert line.client == "203.0.113.7"  # type: ignore[attr-defined]


async def test_proxies_are_trusted_and_distrusted_without_a_restart() -> None:
    async with gateway_of(config(server=HOSTS)) as served:
        before = await status(served, SAID)
        served.apply(config(server={**HOSTS, "trustedProxies": ["127.0.0.1"]}))
        await until(lambda: _believed(served))
        after = await status(served, SAID)

    assert before == 421
    assert after != 421


def _believed(served: Served) -> Any:
    return served.endpoint._entrance.value.proxies.networks


@pytest.mark.parametrize(
    ("path", "prefix", "address"),
    [
        ("/mcp", "", "/messages"),
        ("/gw/mcp", "", "/gw/messages"),
        ("/mcp", "/gw/", "/gw/messages"),
        ("/a/b/mcp", "/gw", "/gw/a/b/messages"),
    ],
)
async def test_a_client_of_the_older_transport_is_told_a_path_that_it_can_reach(
    path: str, prefix: str, address: str
) -> None:
    server = {"path": path, "trustedProxies": ["127.0.0.1"]}
    said = {"X-Forwarded-Prefix": prefix} if prefix else {}
    async with gateway_of(config(server=server)) as served:
        stream = f"{served.url.removesuffix('/mcp')}/sse"
        async with aiohttp.ClientSession(headers=said) as http, http.get(stream) as answer:
            event = await answer.content.readuntil(b"\n\n")

    assert event.startswith(f"event: endpoint\ndata: {address}?sessionId=".encode())


@pytest.mark.config_key("server.path")
async def test_everything_works_below_a_deeper_path() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake, server={"path": "/gw/mcp"})) as served,
        aiohttp.ClientSession() as http,
    ):
        origin = served.url.removesuffix("/gw/mcp")
        for url in (served.url, f"{served.url}/", f"{served.url}/a"):
            async with sessioned(url) as caller:
                assert words(await caller.ask("tools/call", named("echo")))
        statuses = [
            (await http.get(f"{origin}{path}")).status
            for path in ("/health", "/readyz", "/mcp", "/sse", "/gw/health")
        ]

    assert statuses == [200, 200, 404, 404, 404]


async def test_a_client_behind_a_proxy_that_ends_tls_needs_nothing_else() -> None:
    fake = SessionedFake()
    way = Way({**SAID, "X-Forwarded-Proto": "https"})
    server = {**HOSTS, "trustedProxies": ["127.0.0.1"]}
    async with (
        serving(fake),
        gateway_of(config(fake, server=server)) as served,
        sessioned(served.url, way=way) as caller,
    ):
        assert await caller.tools() == ["echo"]
