"""Whatever a backend answers to `notifications/initialized`, the session goes on; nothing of it is parsed."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.edge_cases.front import behind, door, request
from tests.support.scripted import Cut, Heard, Scripted, always, http, scripted
from tests.support.waiting import until

INITIALIZED = "notifications/initialized"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(http(202), id="202"),
        pytest.param(http(202, kind="application/json"), id="202 with a JSON type and no body"),
        pytest.param(http(200), id="200 empty"),
        pytest.param(http(204), id="204"),
        pytest.param(http(200, b"null", "application/json"), id="200 null"),
        pytest.param(http(200, b"ok", "text/plain"), id="200 ok"),
        pytest.param(http(200, b"{broken", "application/json"), id="200 with broken JSON"),
        pytest.param(http(200, b": hello\n\n", "text/event-stream"), id="200 stream"),
        pytest.param(Cut(http(202, Connection="close")), id="202 and the connection ends"),
        pytest.param(http(400, b"what?", "text/plain"), id="400"),
        pytest.param(http(404), id="404"),
        pytest.param(http(405), id="405"),
        pytest.param(http(500, b"<h1>oops</h1>", "text/html"), id="500"),
        pytest.param(Cut(b""), id="no answer at all"),
    ],
)
async def test_the_session_goes_on(answer: bytes | Cut) -> None:
    backend = Scripted(script={INITIALIZED: always(answer)})

    async with scripted(backend), door(behind(backend)) as gateway:
        headers = await gateway.session()
        assert await gateway.tools() == ["a_echo"]
        assert (await gateway.post(request("tools/call", {"name": "a_echo"}), headers)).result
        # A second call finds the session that the first one opened.
        assert (await gateway.post(request("tools/call", {"name": "a_echo"}), headers)).result

    assert len(backend.asked(INITIALIZED)) == 2


async def test_a_refusal_is_logged_once_however_many_sessions_there_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend = Scripted(script={INITIALIZED: always(http(500))})

    with caplog.at_level(logging.INFO, "vmcp"):
        async with scripted(backend), door(behind(backend)) as gateway:
            for _ in range(3):
                headers = await gateway.session()
                assert (
                    await gateway.post(request("tools/call", {"name": "a_echo"}), headers)
                ).result

    assert len(backend.asked(INITIALIZED)) == 4
    logged = [record for record in caplog.records if "initialized" in record.getMessage()]
    assert [record.levelname for record in logged] == ["WARNING"]


async def test_a_slow_one_delays_its_own_backend_alone() -> None:
    let_go = asyncio.Event()
    slow, quick = Scripted(), Scripted()

    async def late(_: Heard) -> bytes:
        await let_go.wait()
        return http(202)

    slow.script[INITIALIZED] = late
    async with scripted(slow, quick), door(behind(slow, quick), awaited=False) as gateway:
        names = gateway.gateway.views.catalog
        await slow.heard.first(lambda heard: heard.method == INITIALIZED)
        await until(lambda: names.value.tools.names == ("b_echo",))
        assert await gateway.session()
        assert await gateway.tools() == ["b_echo"]

        let_go.set()

        await until(lambda: names.value.tools.names == ("a_echo", "b_echo"))
        assert (await gateway.call("a_echo")).result
