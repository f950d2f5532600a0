"""How each way of speaking finds out whether its backend answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.backends import serving
from tests.support.scripted import (
    JSON,
    SESSIONED,
    STATELESS,
    Cut,
    Script,
    Scripted,
    always,
    error,
    http,
    result,
    scripted,
)
from tests.support.sse_backend import SseFake
from tests.support.stdio_servers.harness import speaking
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.inventory import Era
from vmcp.model.keys import ObjectKey
from vmcp.net.client import HttpClient
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.http import HttpConnector
from vmcp.transport.outgoing.speech import EraContradicted, Speech

PROBES = {SESSIONED: "ping", STATELESS: "server/discover"}
BOTH = pytest.mark.parametrize("era", [SESSIONED, STATELESS])


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Speech]:
    """Connect to a backend for the block."""
    endpoint, errands, client = HttpEndpoint(url), Errands(), HttpClient()
    connector = HttpConnector(
        Backend(ObjectKey("Backend", "a"), "a", endpoint, 5.0), endpoint, client, errands
    )
    try:
        async with errands.running(), connector.connect() as speech:
            yield speech
    finally:
        await client.close()


@BOTH
async def test_a_backend_over_http_is_asked_in_its_era(era: str) -> None:
    backend = Scripted(era, {"ping": lambda heard: result(heard, {})})

    async with scripted(backend), connected(backend.url) as speech:
        before = len(backend.asked(PROBES[era]))
        await speech.probe()

        (asked,) = backend.asked(PROBES[era])[before:]
        assert asked.header("Mcp-Session-Id") == ("session-1" if era == SESSIONED else None)


@pytest.mark.parametrize("code", [-32601, -32603, -1])
async def test_a_server_that_refuses_a_ping_has_answered(code: int) -> None:
    backend = Scripted(SESSIONED, {"ping": lambda heard: error(heard, code)})

    async with scripted(backend), connected(backend.url) as speech:
        await speech.probe()

    assert len(backend.asked("ping")) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (always(http(404)), "SessionLost"),
        (always(http(401)), "Unauthorized"),
        (always(http(403)), "Unauthorized"),
        (always(http(429)), "Overloaded"),
        (always(http(503)), "Overloaded"),
        (always(http(500)), "Rejected"),
        (always(http(200, b"{", JSON)), "InvalidAnswer"),
        (always(Cut(b"")), "ConnectionLost"),
    ],
)
async def test_what_is_no_answer_to_ping_is_told(answer: Script, reason: str) -> None:
    backend = Scripted(SESSIONED)

    async with scripted(backend), connected(backend.url) as speech:
        backend.script["ping"] = answer
        with pytest.raises(BackendFailed) as caught:
            await speech.probe()

    assert caught.value.reason == reason


async def test_for_how_long_a_busy_server_wants_to_be_left_alone_is_told() -> None:
    backend = Scripted(SESSIONED, {"ping": always(http(503, Retry_After="7"))})

    async with scripted(backend), connected(backend.url) as speech:
        with pytest.raises(BackendFailed) as caught:
            await speech.probe()

    assert caught.value.retry_after_seconds == 7


async def test_what_a_stateless_server_newly_says_of_itself_is_taken() -> None:
    backend = Scripted(STATELESS)

    async with scripted(backend), connected(backend.url) as speech:
        backend.declared = {"tools": {}, "logging": {}}
        await speech.probe()

        assert speech.peer.capabilities.get(b'"logging"') is not None


async def test_a_server_that_is_stateless_no_more_is_contradicted() -> None:
    backend = Scripted(STATELESS)

    async with scripted(backend), connected(backend.url) as speech:
        backend.script["server/discover"] = lambda heard: error(heard, -32601)
        with pytest.raises(EraContradicted):
            await speech.probe()


async def test_a_backend_of_the_older_transport_is_asked_on_its_stream() -> None:
    fake = SseFake()

    async with serving(fake), connected(fake.url) as speech:
        await speech.probe()

        assert len(fake.heard.having(lambda heard: heard.method == "ping")) == 1


@pytest.mark.parametrize("era", list(Era), ids=lambda era: era.value)
async def test_a_process_is_asked_over_its_pipe(era: Era) -> None:
    async with speaking("--era", era.value) as speech:
        await speech.probe()

        assert speech.peer.era is era
