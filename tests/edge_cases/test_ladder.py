"""A stateless request is refused by the first check that it fails, with the status and the code of that check."""

from __future__ import annotations

import pytest

from tests.edge_cases.front import META, VERSION, behind, door, request
from tests.support.scripted import STATELESS, Json, Scripted, message, scripted

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
FUTURE = "2027-01-01"


async def test_each_check_answers_before_those_that_follow() -> None:
    # Everything is wrong at first; each step puts one thing right.
    headers: dict[str, str | None] = {
        "mcp-protocol-version": "2026-01-01",
        "mcp-method": "other",
    }
    meta: Json = {}
    seen: list[tuple[int, int]] = []

    async with door(behind()) as gateway:

        async def step() -> None:
            answer = await gateway.post(request("no/such", {"_meta": meta}), headers)
            seen.append((answer.status, answer.code))

        await step()
        meta[VERSION_KEY] = FUTURE
        await step()
        meta[CAPABILITIES_KEY] = {}
        await step()
        headers["mcp-protocol-version"] = FUTURE
        await step()
        headers["mcp-method"] = "no/such"
        await step()
        meta[VERSION_KEY] = headers["mcp-protocol-version"] = VERSION
        await step()

    assert seen == [
        (400, -32602),
        (400, -32602),
        (400, -32020),
        (400, -32020),
        (400, -32022),
        (404, -32601),
    ]


@pytest.mark.parametrize("version", ["2025-11-25", None])
async def test_a_claim_in_meta_without_its_header_is_a_mismatch(version: str | None) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.stateless("tools/list", mcp_protocol_version=version)

    assert (seen.status, seen.code) == (400, -32020)


async def test_a_header_without_its_claim_lacks_meta() -> None:
    async with door(behind()) as gateway:
        for params in (None, {}, {"_meta": {}}):
            body = request("tools/list", params)
            headers = {"mcp-protocol-version": VERSION, "mcp-method": "tools/list"}
            seen = await gateway.post(body, headers)

            assert (seen.status, seen.code, seen.message["id"]) == (400, -32602, 1)


async def test_a_version_that_is_not_served_is_told_which_are() -> None:
    async with door(behind()) as gateway:
        meta = {**META, VERSION_KEY: FUTURE}
        seen = await gateway.stateless("server/discover", meta=meta, mcp_protocol_version=FUTURE)

    assert (seen.status, seen.code) == (400, -32022)
    assert seen.error["data"] == {"supported": [VERSION], "requested": FUTURE}


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "no/such",
        "tasks/list",
        "",
    ],
)
async def test_removed_and_unknown_methods_are_not_found(method: str) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.stateless(method, {"uri": "x:", "level": "info"})

    assert (seen.status, seen.code) == (404, -32601)


async def test_removed_methods_are_not_found_even_where_one_backend_might_know_them() -> None:
    backend = Scripted(STATELESS)

    async with scripted(backend), door(behind(backend)) as gateway:
        for method in ("ping", "logging/setLevel", "resources/subscribe"):
            assert (await gateway.stateless(method)).code == -32601
        assert backend.asked("ping") == []
        # Of any other unknown method the only backend is asked.
        assert (await gateway.stateless("vendor/method")).status == 404
        assert len(backend.asked("vendor/method")) == 1


@pytest.mark.parametrize(
    ("method", "params"),
    [
        pytest.param("tools/call", {"name": "no_such"}, id="tool"),
        pytest.param("prompts/get", {"name": "no_such"}, id="prompt"),
        pytest.param("resources/read", {"uri": "no:such"}, id="resource"),
        pytest.param("tools/call", {}, id="no name"),
        pytest.param("tools/list", {"cursor": "%"}, id="cursor"),
        pytest.param("completion/complete", {"ref": {"type": "ref/prompt"}}, id="reference"),
    ],
)
async def test_what_is_not_there_is_an_invalid_param(method: str, params: Json) -> None:
    async with door(behind()) as gateway:
        seen = await gateway.stateless(method, params)

    assert (seen.status, seen.code) == (400, -32602)
    if method == "resources/read":
        assert seen.error["data"] == {"uri": "no:such"}


async def test_a_name_in_the_header_may_be_encoded() -> None:
    backend = Scripted(STATELESS)

    async with scripted(backend), door(behind(backend)) as gateway:
        good = await gateway.call("a_echo", mcp_name="=?base64?YV9lY2hv?=")
        bad = await gateway.call("a_echo", mcp_name="=?base64?YV9lY2h?=")

    assert good.result
    assert (bad.status, bad.code) == (400, -32020)


async def test_a_notification_is_accepted_and_one_that_contradicts_itself_is_not() -> None:
    note = message(None, method="notifications/x", params={})

    async with door(behind()) as gateway:
        fine = await gateway.post(note, mcp_protocol_version=VERSION)
        told = await gateway.post(note, mcp_protocol_version=VERSION, mcp_method="notifications/x")
        other = await gateway.post(note, mcp_protocol_version=VERSION, mcp_method="ping")
        future = await gateway.post(note, mcp_protocol_version=FUTURE)

    assert [(seen.status, seen.body) for seen in (fine, told)] == [(202, b"")] * 2
    assert (other.status, other.code) == (400, -32020)
    assert (future.status, future.code) == (400, -32022)
    assert "id" not in future.message


async def test_a_response_is_no_message_of_this_era() -> None:
    async with door(behind()) as gateway:
        seen = await gateway.post(message(1, result={}), mcp_protocol_version=VERSION)

    assert (seen.status, seen.code) == (400, -32600)
    assert "id" not in seen.message


REGIONAL: Json = {
    "name": "regional",
    "inputSchema": {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
        },
    },
}


async def test_headers_that_repeat_arguments_are_compared_and_passed_on() -> None:
    backend = Scripted(STATELESS)
    backend.tools = (REGIONAL,)

    async with scripted(backend), door(behind(backend)) as gateway:
        arguments = {"region": "eu", "count": 7}
        missing = await gateway.call("a_regional", arguments)
        wrong = await gateway.call(
            "a_regional", arguments, mcp_param_region="us", mcp_param_count="7"
        )
        right = await gateway.call(
            "a_regional",
            arguments,
            mcp_param_region="eu",
            mcp_param_count="7.0",
            mcp_param_unknown="kept",
        )

    for seen in (missing, wrong):
        assert (seen.status, seen.code) == (400, -32020)
    assert right.result
    (call,) = backend.asked("tools/call")
    assert call.all("mcp-param-region") == ["eu"]
    assert call.all("mcp-param-count") == ["7.0"]
    assert call.all("mcp-param-unknown") == ["kept"]
    assert call.all("mcp-name") == ["regional"]


async def test_a_sessioned_client_gets_the_headers_made_of_its_arguments() -> None:
    backend = Scripted(STATELESS)
    backend.tools = (REGIONAL,)

    async with scripted(backend), door(behind(backend)) as gateway:
        params = {"name": "a_regional", "arguments": {"region": "é", "count": 7}}
        headers = {**await gateway.session(), "mcp-param-count": "8"}
        assert (await gateway.post(request("tools/call", params), headers)).result

    (call,) = backend.asked("tools/call")
    assert call.all("mcp-param-region") == ["=?base64?w6k=?="]
    assert call.all("mcp-param-count") == ["7"]


async def test_a_tool_with_an_invalid_annotation_is_left_out_with_a_problem() -> None:
    backend = Scripted(STATELESS)
    wrong: Json = {
        "name": "wrong",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number", "x-mcp-header": "A"}},
        },
    }
    backend.tools = (REGIONAL, wrong)

    async with scripted(backend), door(behind(backend)) as gateway:
        assert await gateway.tools() == ["a_regional"]
        problems = gateway.gateway.views.catalog.value.problems

    assert [(problem.key.name, problem.reason) for problem in problems] == [("a", "ToolInvalid")]
