"""The version that was agreed with a backend is named on every request to it, once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.edge_cases.front import behind, door, request
from tests.support.health import failures
from tests.support.scripted import SESSIONED, STATELESS, VERSION, Heard, Scripted, http, scripted


def strict(backend: Scripted, version: str) -> Callable[[Heard], bytes]:
    """Refuse each request after the opening one that does not name the version once."""

    def answer(heard: Heard) -> bytes:
        if heard.method == "initialize":
            return backend.behaves(heard) if not heard.all("mcp-protocol-version") else http(400)
        if heard.method != "server/discover" and heard.all("mcp-protocol-version") != [version]:
            return http(400, b"Bad Request: unsupported protocol version")
        return backend.behaves(heard)

    return answer


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26", "2024-11-05", "2025-11-25"])
async def test_a_strict_backend_that_negotiates_down_hears_its_own_version(version: str) -> None:
    backend = Scripted(SESSIONED)
    backend.version = version
    backend.script["else"] = strict(backend, version)

    async with scripted(backend), door(behind(backend)) as gateway:
        headers = await gateway.session("2025-11-25")
        seen = await gateway.post(request("tools/call", {"name": "a_echo"}), headers)
        await gateway.send("DELETE", {"host": "localhost", **headers})

        assert seen.result
    kinds = {heard.method for heard in backend.heard.all}
    assert kinds >= {"notifications/initialized", "tools/list", "tools/call", "GET", "DELETE"}
    told = [heard for heard in backend.heard.all if heard.method not in _OPENING]
    assert {tuple(heard.all("mcp-protocol-version")) for heard in told} == {(version,)}


_OPENING = ("server/discover", "initialize")


async def test_a_stateless_backend_hears_the_stateless_version_from_a_sessioned_client() -> None:
    backend = Scripted(STATELESS)

    async with scripted(backend), door(behind(backend)) as gateway:
        headers = await gateway.session("2025-06-18")
        assert (await gateway.post(request("tools/call", {"name": "a_echo"}), headers)).result

    assert {tuple(heard.all("mcp-protocol-version")) for heard in backend.heard.all} == {(VERSION,)}


async def test_a_client_session_asks_the_backend_for_the_version_of_the_client() -> None:
    backend = Scripted(SESSIONED)

    async with scripted(backend), door(behind(backend)) as gateway:
        headers = await gateway.session("2025-03-26")
        await gateway.post(request("tools/call", {"name": "a_echo"}), headers)

    asked = [heard.params["protocolVersion"] for heard in backend.asked("initialize")]
    assert asked == ["2025-11-25", "2025-03-26"]


@pytest.mark.parametrize(
    ("wanted", "agreed"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
async def test_a_client_gets_the_version_that_it_asks_for_or_the_newest(
    wanted: str, agreed: str
) -> None:
    async with door(behind()) as gateway:
        assert (await gateway.session(wanted))["mcp-protocol-version"] == agreed


async def test_a_backend_that_wants_a_version_that_nobody_knows_fails_by_name() -> None:
    backend = Scripted(SESSIONED)
    backend.version = "2031-01-01"

    async with scripted(backend), door(behind(backend)) as gateway:
        (found,) = failures(gateway.gateway).values()

    assert found.reason == "VersionUnsupported"
