"""Which path leads where, with the endpoint at its usual place, deeper, and at the root."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.backends import serving
from tests.support.clients import stateless
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake

VIEWS = [{"name": "part", "tools": ["a_*"]}]


def at(path: str, *fakes: SessionedFake) -> dict[str, Any]:
    prefixed = {"aggregation": {"conflictResolution": "prefix"}}
    return {**config(*fakes), **prefixed, "views": VIEWS, "server": {"path": path}}


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.mark.parametrize("base", ["/mcp", "/deep/down/mcp", ""])
async def test_parts_lie_below_the_path_of_the_whole(base: str) -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(at(base or "/", fake)) as served:
        found = []
        for path in ("", "/", "/a", "/a/", "/v/part", "/v/part/"):
            async with stateless(origin(served.url) + base + path) as caller:
                found.append(await caller.tools())

    assert found == [["a_echo"], ["a_echo"], ["echo"], ["echo"], ["a_echo"], ["a_echo"]]


@pytest.mark.parametrize("base", ["/mcp", "/"])
async def test_health_is_told_whatever_lies_beside_it(base: str) -> None:
    fake = SessionedFake()
    async with serving(fake):
        settings = at(base, fake)
        settings["backends"][0]["name"] = "health"
        async with gateway_of(settings) as served, stateless(served.url) as caller:
            for path, said in (("/health", b"ok\n"), ("/readyz", b"ready\n")):
                answer = await caller.send("GET", {}, url=origin(served.url) + path)
                assert (answer.status, await answer._response.read()) == (200, said)


async def test_paths_beside_the_endpoint_are_not_found() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(at("/mcp", fake)) as served,
        stateless(served.url) as caller,
    ):
        for path in ("/", "/mcpx", "/a", "/v/part", "/mcp.json"):
            answer = await caller.send("POST", {}, {}, origin(served.url) + path)
            assert answer.status == 404
