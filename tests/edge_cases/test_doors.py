"""A foreign Host gets 421 and a foreign Origin 403; on loopback its names may come with any port."""

from __future__ import annotations

import pytest

from tests.edge_cases.front import behind, door

ANYWHERE = {"host": "0.0.0.0"}


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:4483",
        "localhost",
        "localhost:1",
        "LocalHost:65535",
        "[::1]",
        "[::1]:4483",
    ],
)
async def test_the_names_of_loopback_are_served_with_any_port(host: str) -> None:
    async with door(behind()) as gateway:
        assert (await gateway.stateless("server/discover", host=host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "example.test",
        "127.0.0.2",
        "localhost.example.test",
        "127.0.0.1.example.test:4483",
        "example.test:4483",
        "localhost@example.test",
        "example.test#localhost",
        "[::2]",
        "[::1",
        "",
        None,
    ],
)
async def test_a_foreign_host_gets_421_whatever_it_asks(host: str | None) -> None:
    async with door(behind()) as gateway:
        posted = await gateway.stateless("server/discover", host=host)
        got = await gateway.send("GET", {"host": host})
        deleted = await gateway.send("DELETE", {"host": host})

    assert [posted.status, got.status, deleted.status] == [421] * 3
    assert b"allowedHosts" in posted.body


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost",
        "http://localhost:3000",
        "https://127.0.0.1:8443",
        "http://[::1]:80",
        "HTTP://LOCALHOST:3000",
        None,
    ],
)
async def test_the_origins_of_loopback_and_none_at_all_are_served(origin: str | None) -> None:
    async with door(behind()) as gateway:
        assert (await gateway.stateless("server/discover", origin=origin)).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://example.test",
        "https://localhost.example.test",
        "http://localhost@example.test",
        "http://example.test/localhost",
        "file://localhost",
        "chrome-extension://localhost",
        "null",
        "localhost",
        "",
    ],
)
async def test_a_foreign_origin_gets_403_whatever_it_asks(origin: str) -> None:
    async with door(behind()) as gateway:
        posted = await gateway.stateless("server/discover", origin=origin)
        got = await gateway.send("GET", {"host": "localhost", "origin": origin})

    assert [posted.status, got.status] == [403] * 2
    assert b"allowedOrigins" in posted.body


@pytest.mark.parametrize("path", ["/health", "/readyz"])
async def test_probes_are_answered_to_any_host_and_origin(path: str) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.send(
            "GET", {"host": "10.1.2.3:4483", "origin": "http://example.test"}, path=path
        )

    assert seen.status == 200


async def test_allowed_hosts_and_origins_replace_those_of_loopback() -> None:
    server = {
        "allowedHosts": ["mcp.example.test", "other.example.test:8443"],
        "allowedOrigins": ["https://app.example.test"],
    }
    async with door(behind(server=server)) as gateway:
        for host, status in (
            ("mcp.example.test", 200),
            ("MCP.example.test:1234", 200),
            ("other.example.test:8443", 200),
            ("other.example.test", 421),
            ("other.example.test:1", 421),
            ("localhost", 421),
        ):
            seen = await gateway.stateless("server/discover", host=host)
            assert (host, seen.status) == (host, status)
        for origin, status in (
            ("https://app.example.test", 200),
            ("https://App.example.test", 200),
            ("http://app.example.test", 403),
            ("https://app.example.test:444", 403),
            ("http://localhost", 403),
        ):
            seen = await gateway.stateless(
                "server/discover", host="mcp.example.test", origin=origin
            )
            assert (origin, seen.status) == (origin, status)


async def test_beyond_loopback_any_host_is_served_and_no_origin() -> None:
    async with door(behind(server=ANYWHERE)) as gateway:
        served = await gateway.stateless("server/discover", host="mcp.example.test")
        nameless = await gateway.stateless("server/discover", host=None)
        foreign = await gateway.stateless("server/discover", origin="http://localhost")

    assert [served.status, nameless.status, foreign.status] == [200, 200, 403]


async def test_what_lies_beside_the_endpoint_is_not_there() -> None:
    async with door(behind()) as gateway:
        for path in ("/", "/mcp/x", "/mcp//", "/MCP", "/status", "/metrics"):
            seen = await gateway.send("GET", {"host": "localhost"}, path=path)
            assert (path, seen.status) == (path, 404)
