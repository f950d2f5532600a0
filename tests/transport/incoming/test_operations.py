"""The operations port: what it serves, to whom, and that it lets no website read it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.backends import serving
from tests.support.clients import named, stateless
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from vmcp.transport.incoming.limits import doors
from vmcp.transport.incoming.operations import Operations

PAGE = ("/", "/page.css", "/page.js", "/status/live", "/status/catalog")


@dataclass(frozen=True, slots=True)
class Told:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


async def ask(app: Operations, target: str, method: str = "GET", **headers: str) -> Told:
    """Send one request to an application."""
    path, _, query = target.partition("?")
    given = {"host": "127.0.0.1:9464", **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    await app(scope, receive, send)
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Told(sent[0]["status"], told, b"".join(each.get("body", b"") for each in sent[1:]))


@asynccontextmanager
async def serving_one() -> AsyncIterator[Served]:
    """Serve a gateway with one backend for the block."""
    fake = SessionedFake()
    async with serving(fake), gateway_of(config(fake)) as made:
        yield made


def operations(served: Served, host: str = "127.0.0.1", *, shows_page: bool = True) -> Operations:
    return Operations(
        served.gateway, served.live.reload, doors(host, None, None), shows_page=shows_page
    )


async def test_everything_of_the_page_may_load_nothing_from_elsewhere() -> None:
    async with serving_one() as served:
        app = operations(served)

        for path in PAGE:
            told = await ask(app, path)

            assert told.status == 200
            policy = told.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
            assert "unsafe" not in policy
            assert told.headers["x-content-type-options"] == "nosniff"
            assert told.headers["cache-control"] == "no-store"


async def test_the_html_has_no_script_style_or_handler_of_its_own() -> None:
    async with serving_one() as served:
        html = (await ask(operations(served), "/")).body.decode()

        assert "<style" not in html
        assert "style=" not in html
        assert "<script>" not in html
        assert not re.search(r"\son\w+=", html)
        assert "http" not in html


async def test_without_the_page_there_is_the_status_alone() -> None:
    async with serving_one() as served:
        app = operations(served, shows_page=False)

        assert [(await ask(app, path)).status for path in PAGE] == [404] * len(PAGE)
        assert (await ask(app, "/status")).json()["name"] == "vmcp"
        assert (await ask(app, "/health")).body == b"ok\n"
        assert (await ask(app, "/readyz")).body == b"ready\n"


async def test_on_loopback_a_foreign_host_reads_nothing_but_health() -> None:
    async with serving_one() as served:
        app = operations(served)

        for path in (*PAGE, "/status"):
            told = await ask(app, path, host="rebound.test")
            assert (told.status, told.body[:9]) == (421, b"This port")
        assert (await ask(app, "/health", host="rebound.test")).status == 200
        assert (await ask(app, "/status", host="localhost:1")).status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1"])
async def test_a_foreign_website_reads_nothing(host: str) -> None:
    async with serving_one() as served:
        told = await ask(operations(served, host), "/status", origin="https://elsewhere.test")

        assert (told.status, told.body) == (403, b"Other websites may not read this port.\n")


async def test_elsewhere_than_on_loopback_every_host_is_served() -> None:
    async with serving_one() as served:
        assert (await ask(operations(served, "10.0.0.1"), "/status", host="gw.test")).status == 200


@pytest.mark.parametrize("path", PAGE)
async def test_nothing_can_be_changed_here(path: str) -> None:
    async with serving_one() as served:
        assert (await ask(operations(served), path, "POST")).status == 405


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (f"search={'x' * 201}", "search may have at most 200 characters."),
        ("after=-1", "after must be"),
        ("after=x", "after must be"),
        ("after=%D9%A3", "after must be"),
        ("after=1234567890", "after must be"),
        ("show=all", "show must be one of: listed, left-out, problems."),
        ("kind=thing", "kind must be one of: tool, prompt, resource, resource template."),
    ],
)
async def test_a_query_that_means_nothing_is_refused_with_what_is_allowed(
    query: str, names: str
) -> None:
    async with serving_one() as served:
        told = await ask(operations(served), f"/status/catalog?{query}")

    assert told.status == 400
    assert names in told.body.decode()


async def test_traffic_is_shown_live_and_in_the_status() -> None:
    async with serving_one() as served:
        app = operations(served)
        async with stateless(served.url) as caller:
            for _ in range(3):
                await caller.ask("tools/call", named("echo"))

        for path in ("/status", "/status/live"):
            backend = (await ask(app, path)).json()["backends"][0]
            minute = backend["lastMinute"]
            assert (backend["calls"], backend["called"], backend["failed"]) == (0, 3, 0)
            assert minute["callsPerSecond"] > 0
            assert 0 < minute["p50Milliseconds"] <= minute["p99Milliseconds"]


async def test_a_call_that_a_backend_failed_counts_as_failed() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        await fake.stop()
        await caller.refused("tools/call", named("echo"))

        backend = (await ask(operations(served), "/status")).json()["backends"][0]

    assert (backend["called"], backend["failed"]) == (1, 1)
    assert backend["lastMinute"]["failuresPerSecond"] > 0


async def test_metrics_are_read_here_and_by_no_website() -> None:
    async with serving_one() as served:
        app = operations(served)
        told = await ask(app, "/metrics", accept="application/openmetrics-text")
        foreign = await ask(app, "/metrics", origin="https://elsewhere.test")

    assert told.status == 200
    assert told.headers["content-type"].startswith("application/openmetrics-text")
    assert b"vmcp_ready 1.0" in told.body
    assert foreign.status == 403


async def test_the_log_level_is_changed_here_and_by_no_other_machine() -> None:
    async with serving_one() as served:
        told = await ask(operations(served), "/loglevel?level=info", "POST")

    assert told.status == 403


async def test_the_live_state_names_the_revision_of_the_catalog() -> None:
    async with serving_one() as served:
        app = operations(served)

        live = (await ask(app, "/status/live")).json()
        page = (await ask(app, "/status/catalog")).json()

        assert live["revision"] == page["revision"]
        assert "problems" not in live


async def test_what_a_name_means_is_told() -> None:
    async with serving_one() as served:
        app = operations(served, shows_page=False)
        name = served.gateway.views.catalog.value.tools.names[0]

        told = await ask(app, f"/explain?name={name}")

        (found,) = told.json()["found"]
        assert (told.status, found["name"], found["backend"]) == (200, name, "a")
        assert found["why"]


@pytest.mark.parametrize(
    "query", ["", "?name=", f"?name={'x' * 8193}"], ids=["none", "empty", "long"]
)
async def test_a_name_is_needed_to_explain_one(query: str) -> None:
    async with serving_one() as served:
        told = await ask(operations(served), f"/explain{query}")

        assert (told.status, told.body) == (400, b"name must hold 1 to 8192 characters.\n")
