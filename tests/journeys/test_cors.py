"""Web pages of allowed origins may use the gateway, with everything that browsers ask for; others may not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.backends import serving
from tests.support.clients import Way, named, sessioned, stateless
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import until

PAGE, FOREIGN, LATER = (
    "https://app.example.test",
    "https://evil.example",
    "https://new.example.test",
)
KEY = "k" * 40
ALLOWED = {
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "traceparent",
    "x-api-key",
    "x-request-id",
}
ASKED = "content-type, Mcp-Param-Region, mcp-param-limit, mcp-param-(bad), x-foreign, authorization"


def browsed(*fakes: SessionedFake, folder: Path | None = None, **more: Any) -> dict[str, Any]:
    auth = {}
    if folder is not None:
        (folder / "keys").write_text(f"page: {KEY}\n")
        auth = {"incomingAuth": {"type": "api_key", "keysFile": str(folder / "keys")}}
    return config(*fakes, server={"allowedOrigins": [PAGE]}, **auth, **more)


async def preflight(http: aiohttp.ClientSession, url: str, origin: str = PAGE) -> Any:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": ASKED,
    }
    async with http.options(url, headers=headers) as answer:
        return answer


def cors(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name.lower(): value
        for name, value in headers.items()
        if name.lower().startswith("access-control-")
    }


def words(header: str) -> set[str]:
    return {each.strip() for each in header.split(",")}


def may_read(answer: Any) -> bool:
    exposed = words(answer.headers.get("Access-Control-Expose-Headers", ""))
    wanted = {"mcp-session-id", "www-authenticate", "x-request-id"}
    origin = answer.headers.get("Access-Control-Allow-Origin")
    return origin == PAGE and answer.headers["Vary"] == "Origin" and wanted <= exposed


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp/a", "/sse", "/messages?sessionId=x"])
async def test_a_preflight_is_answered_before_anybody_asks_for_a_key(
    path: str, tmp_path: Path
) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(browsed(fake, folder=tmp_path, passthroughHeaders=["X-Tenant"])) as served,
        aiohttp.ClientSession() as http,
    ):
        answer = await preflight(http, served.url.replace("/mcp", path))

    told = cors(answer.headers)
    assert answer.status == 204
    assert may_read(answer)
    assert words(told["access-control-allow-methods"]) == {"GET", "POST", "DELETE"}
    allowed = words(told["access-control-allow-headers"])
    assert allowed >= ALLOWED | {"mcp-param-region", "mcp-param-limit", "x-tenant"}
    assert not allowed & {"x-foreign", "mcp-param-(bad)"}
    assert told["access-control-max-age"] == "7200"
    assert "access-control-allow-credentials" not in told


async def test_a_page_in_the_network_of_the_gateway_is_let_in_where_the_browser_asks() -> None:
    async with gateway_of(browsed()) as served, aiohttp.ClientSession() as http:
        asked = {
            "Origin": PAGE,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Private-Network": "true",
        }
        answer = await http.options(served.url, headers=asked)

    assert answer.headers["Access-Control-Allow-Private-Network"] == "true"


@pytest.mark.config_key("server.allowedOrigins[]")
async def test_every_real_answer_can_be_read(tmp_path: Path) -> None:
    fake = SessionedFake()
    way = Way({"Origin": PAGE, "Authorization": f"Bearer {KEY}"})
    async with (
        serving(fake),
        gateway_of(browsed(fake, folder=tmp_path)) as served,
        sessioned(served.url, way=way) as caller,
        stateless(served.url, way=way) as other,
        aiohttp.ClientSession(headers=way.headers) as http,
    ):
        answers = [
            await caller.request("tools/call", named("echo")),
            await caller.listen(),
            await other.request("tools/list"),
            await other.request("no/such/method"),
            await other.listen(toolsListChanged=True),
            await http.post(served.url, data=b"no JSON"),
            await http.put(served.url),
            await http.options(served.url),
            await http.post(served.url, headers={"Authorization": "Bearer wrong"}),
            await http.get(f"{served.url}/no-such-view"),
            await http.get(served.url.replace("/mcp", "/sse")),
        ]

        assert [answer.status for answer in answers] == [
            *(200, 200, 200, 404, 200),
            *(415, 405, 405, 401, 404, 200),
        ]
        assert all(map(may_read, answers))


async def test_a_foreign_page_gets_403_and_no_header_that_lets_it_read() -> None:
    async with gateway_of(browsed()) as served, aiohttp.ClientSession() as http:
        answers = [
            await preflight(http, served.url, FOREIGN),
            await preflight(http, served.url.replace("/mcp", "/sse"), "null"),
            await http.post(served.url, headers={"Origin": FOREIGN}, json={}),
        ]

    assert [(answer.status, cors(answer.headers)) for answer in answers] == [(403, {})] * 3


async def test_who_is_no_browser_gets_no_such_header() -> None:
    async with gateway_of(browsed()) as served, aiohttp.ClientSession() as http:
        answer = await http.post(served.url, data=b"{}")

    assert cors(answer.headers) == {}
    assert "Vary" not in answer.headers


async def test_origins_and_hosts_change_without_a_restart() -> None:
    async with gateway_of(browsed()) as served, aiohttp.ClientSession() as http:
        served.apply(config(server={"allowedOrigins": [LATER], "allowedHosts": ["a.test"]}))
        await until(lambda: LATER in (_entrance(served).doors.origins or ()))
        named = {"Host": "a.test"}

        before = await http.options(served.url, headers={"Origin": PAGE, **named})
        after = await http.options(served.url, headers={"Origin": LATER, **named})
        nameless = await http.options(served.url)

    assert [before.status, after.status, nameless.status] == [403, 405, 421]


def _entrance(served: Served) -> Any:
    return served.endpoint._entrance.value
