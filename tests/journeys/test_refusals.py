"""Requests that are refused by their heads: whoever may read the answer can, and it is counted and noted."""

from __future__ import annotations

import json
import logging

import aiohttp
import pytest

from tests.support.backends import serving
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from vmcp.transport.incoming.limits import HEADER_LIMIT

PAGE = "http://localhost:5173"
JSON = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
REFUSED = {
    "twice": (400, 400, [("Mcp-Session-Id", "a"), ("Mcp-Session-Id", "b")]),
    "differs": (400, -32020, [("Mcp-Method", "a"), ("Mcp-Method", "b")]),
    "large": (431, 431, [("X-Large", "x" * (HEADER_LIMIT - 100))]),
    "type": (415, 415, [("Content-Type", "text/plain")]),
}


@pytest.mark.parametrize(("status", "counted", "more"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_is_refused_by_its_head_is_told_to_its_page_counted_and_noted(
    status: int, counted: int, more: list[tuple[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served, aiohttp.ClientSession() as http:
        served.gateway.accounts.log(is_on=True)
        headers = [("Origin", PAGE), *(each for each in JSON if each[0] != more[0][0]), *more]
        async with http.post(served.url, data=b"{}", headers=headers) as answer:
            said = json.loads(await answer.read())

        assert answer.status == status
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE
        assert answer.headers["X-Request-Id"]
        assert (said["id"], said["jsonrpc"]) == (None, "2.0")
        assert said["error"]["message"]
        assert served.gateway.refused == {counted: 1}
        (line,) = [each for each in caplog.records if each.name == "vmcp.access"]
        assert line.__dict__["status"] == status


FOREIGN = [
    "localhost#.evil.example",
    "localhost?.evil.example",
    "127.0.0.1/.evil.example",
    "me@localhost",
    "evil.example@127.0.0.1:80",
    "localhost:x",
    "[::1",
    "localhost.evil.example",
    "127.0.0.1." + "a" * 300,
]


@pytest.mark.parametrize("name", FOREIGN)
async def test_what_only_looks_like_this_machine_is_foreign(name: str) -> None:
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as served, aiohttp.ClientSession() as http:
        for header, status in (({"Host": name}, 421), ({"Origin": f"http://{name}"}, 403)):
            async with http.post(
                served.url, data=b"{}", headers={**dict(JSON), **header}
            ) as answer:
                assert answer.status == status


@pytest.mark.parametrize("port", ["", ":4483"], ids=["without a port", "with a port"])
@pytest.mark.parametrize("name", ["[fd00::1]", "gw.example", "LOCALHOST"])
async def test_a_host_that_is_allowed_is_served_with_any_port(name: str, port: str) -> None:
    fake = SessionedFake()
    hosts = {"allowedHosts": ["[fd00::1]", "gw.example", "localhost"]}
    async with (
        serving(fake),
        gateway_of(config(fake, server=hosts)) as served,
        aiohttp.ClientSession() as http,
    ):
        headers = {**dict(JSON), "Host": f"{name}{port}"}
        async with http.post(served.url, data=b"{}", headers=headers) as answer:
            assert answer.status == 400
