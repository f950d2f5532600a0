"""Sessioned requests need a session that exists; what has none is told how to get one."""

from __future__ import annotations

import pytest

from tests.edge_cases.front import VERSION, Door, Seen, behind, door, request
from tests.support.scripted import Json, Scripted, message, scripted

NOTE: Json = {"jsonrpc": "2.0", "method": "notifications/initialized"}
RESPONSE: Json = {"jsonrpc": "2.0", "id": 1, "result": {}}
REQUESTS = (request("tools/list"), request("ping"), request("no/such"))
BODIES = [
    *(pytest.param(body, id=body["method"]) for body in REQUESTS),
    pytest.param(NOTE, id="notification"),
    pytest.param(RESPONSE, id="response"),
]


@pytest.mark.parametrize("version", [None, "2025-11-25", "2025-03-26"])
@pytest.mark.parametrize("body", BODIES)
async def test_without_a_session_a_message_gets_400_that_says_how_to_open_one(
    body: Json, version: str | None
) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.post(body, mcp_protocol_version=version)

    assert (seen.status, seen.code) == (400, -32600)
    assert "initialize" in seen.error["message"]
    assert seen.message.get("id") == (1 if body in REQUESTS else None)


@pytest.mark.parametrize("session", ["gone", "", "x" * 1000])
@pytest.mark.parametrize("body", BODIES)
async def test_with_an_unknown_session_a_message_gets_404(body: Json, session: str) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.post(body, mcp_session_id=session)

    assert (seen.status, seen.code) == (404, -32600)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_streams_and_ends_of_sessions_need_one_too(method: str) -> None:
    async with door(behind()) as gateway:
        without = await gateway.send(method, {"host": "localhost"})
        unknown = await gateway.send(method, {"host": "localhost", "mcp-session-id": "gone"})

    assert (without.status, without.code) == (400, -32600)
    assert (unknown.status, unknown.code) == (404, -32600)


async def test_a_session_that_was_ended_is_unknown() -> None:
    async with door(behind()) as gateway:
        headers = await gateway.session()
        assert (await gateway.post(request("ping"), headers)).result == {}

        ended = await gateway.send("DELETE", {"host": "localhost", **headers})

        assert ended.status == 204
        assert (await gateway.post(request("ping"), headers)).status == 404
        assert (await gateway.send("DELETE", {"host": "localhost", **headers})).status == 404
        assert (await gateway.send("GET", {"host": "localhost", **headers})).status == 404


async def test_the_id_of_a_session_is_random_and_visible_ascii() -> None:
    async with door(behind()) as gateway:
        ids = {(await gateway.session())["mcp-session-id"] for _ in range(50)}

    assert len(ids) == 50
    assert all(len(each) >= 22 and each.isascii() and each.isprintable() for each in ids)


async def test_initialize_in_a_session_opens_another_one() -> None:
    async with door(behind()) as gateway:
        headers = await gateway.session()
        seen = await gateway.post(request("initialize", {"protocolVersion": "2025-11-25"}), headers)

        assert seen.headers["mcp-session-id"] != headers["mcp-session-id"]
        assert (await gateway.post(request("ping"), headers)).result == {}


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({}, id="no version"),
        pytest.param({"protocolVersion": 1}, id="version is a number"),
        pytest.param({"protocolVersion": "2025-11-25", "capabilities": []}, id="capabilities"),
    ],
)
async def test_initialize_that_cannot_be_read_opens_no_session(params: Json) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.post(request("initialize", params))

        assert seen.code == -32602
        assert "mcp-session-id" not in seen.headers
        assert len(gateway.gateway.sessions) == 0


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("version", [VERSION, "2027-01-01", "1999-01-01"])
async def test_get_and_delete_are_not_of_the_stateless_era(method: str, version: str) -> None:
    async with door(behind()) as gateway:
        headers = await gateway.session()
        seen = await gateway.send(
            method, {"host": "localhost", **headers, "mcp-protocol-version": version}
        )

        assert seen.status == 405
        assert seen.headers["allow"] == "POST"
        assert (await gateway.post(request("ping"), headers)).result == {}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "TRACE", "OPTIONS"])
async def test_other_http_methods_are_told_which_there_are(method: str) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.send(method, {"host": "localhost"})
        stateless = await gateway.send(
            method, {"host": "localhost", "mcp-protocol-version": VERSION}
        )

    assert (seen.status, seen.headers["allow"]) == (405, "GET, POST, DELETE")
    assert (stateless.status, stateless.headers["allow"]) == (405, "POST")


async def test_a_stateless_request_in_a_session_ignores_it() -> None:
    async with door(behind()) as gateway:
        for session in ("gone", (await gateway.session())["mcp-session-id"]):
            seen = await gateway.stateless(
                "tools/list", mcp_session_id=session, last_event_id="stream-7"
            )

            assert seen.result["resultType"] == "complete"
            assert "mcp-session-id" not in seen.headers


async def answered(gateway: Door, body: Json | bytes) -> Seen:
    return await gateway.post(body, await gateway.session())


async def test_unknown_methods_and_names_are_errors_with_status_200_in_a_session() -> None:
    backend = Scripted()

    # With two backends nobody is asked what it makes of an unknown method.
    async with scripted(backend), door(behind(backend, backend)) as gateway:
        unknown = await answered(gateway, request("no/such"))
        nameless = await answered(gateway, request("tools/call", {"name": "no_such"}))
        homeless = await answered(gateway, request("resources/read", {"uri": "x:\ud800"}))
        without = await answered(gateway, request("tools/call"))

    assert (unknown.status, unknown.code) == (200, -32601)
    assert (nameless.status, nameless.code) == (200, -32602)
    assert (homeless.status, homeless.code) == (200, -32602)
    assert homeless.error["data"] == {"uri": "x:\ud800"}
    assert (without.status, without.code) == (200, -32602)


async def test_notifications_and_stray_responses_are_acknowledged_with_nothing() -> None:
    async with door(behind()) as gateway:
        headers = await gateway.session()
        for body in (NOTE, RESPONSE, message(None, method="notifications/cancelled", params={})):
            seen = await gateway.post(body, headers)
            assert (seen.status, seen.body) == (202, b"")
