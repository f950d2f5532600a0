"""Names that some clients refuse are made to fit where they must; every listed name can be called in both eras."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.edge_cases.front import Door, behind, door, request
from tests.support.scripted import SESSIONED, STATELESS, Json, Scripted, scripted
from vmcp.protocol.headers import decode

ODD = ("calendar.read", "a/b", "time server", "日本", "a\tb", "ünïcode", "x" * 200, "a_b", "a__b")
VALID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
VALID_WITHOUT_DOTS = re.compile(r"[A-Za-z0-9_-]{1,64}")
WITHOUT_DOTS: Json = {"aggregation": {"allowDots": False}}
ERAS = pytest.mark.parametrize("era", [SESSIONED, STATELESS])


def tool(name: str) -> Json:
    return {
        "name": name,
        "title": name,
        "vendor": [1.0],
        "inputSchema": {"type": "object", "properties": {}},
    }


def weather(backend: Scripted, **more: Any) -> Json:
    return {"backends": [{"name": "weather.v2", "url": backend.url}], **more}


async def listed(gateway: Door) -> list[Json]:
    found: list[Json] = (await gateway.stateless("tools/list")).result["tools"]
    return found


@ERAS
@pytest.mark.parametrize(
    ("more", "valid"),
    [pytest.param({}, VALID, id="dots"), pytest.param(WITHOUT_DOTS, VALID_WITHOUT_DOTS, id="none")],
)
async def test_every_listed_name_is_valid_and_leads_to_its_own_tool_in_both_eras(
    era: str, more: Json, valid: re.Pattern[str]
) -> None:
    backend = Scripted(era)
    backend.tools = tuple(tool(name) for name in ODD)

    async with scripted(backend), door(weather(backend, **more)) as gateway:
        headers = await gateway.session()
        names = [found["name"] for found in await listed(gateway)]
        told = set()
        for name in names:
            stateless = await gateway.call(name)
            sessioned = await gateway.post(request("tools/call", {"name": name}), headers)
            assert stateless.result["content"] == sessioned.result["content"]
            told.add(stateless.result["content"][0]["text"])

    assert all(valid.fullmatch(name) for name in names)
    assert len(set(names)) == len(ODD)
    assert told == set(ODD)


async def test_a_stateless_backend_finds_its_own_name_in_the_header_too() -> None:
    backend = Scripted(STATELESS)
    backend.tools = tuple(tool(name) for name in ODD)

    async with scripted(backend), door(behind(backend)) as gateway:
        for found in await listed(gateway):
            assert (await gateway.call(found["name"])).result

    calls = backend.asked("tools/call")
    assert {decode(call.header("mcp-name") or "") for call in calls} == set(ODD)
    assert all(decode(call.header("mcp-name") or "") == call.params["name"] for call in calls)


async def test_names_within_the_specification_stay_but_for_the_prefix() -> None:
    backend = Scripted()
    backend.tools = (tool("calendar.read"), tool("a-b_c"))

    async with scripted(backend), door(weather(backend)) as gateway:
        assert await gateway.tools() == ["weather.v2_a-b_c", "weather.v2_calendar.read"]
        assert gateway.gateway.views.catalog.value.problems == ()


async def test_only_the_name_of_a_rewritten_document_changes_and_it_is_reported() -> None:
    backend = Scripted()
    backend.tools = (tool("a/b"),)

    async with scripted(backend), door(behind(backend)) as gateway:
        (found,) = await listed(gateway)
        (problem,) = gateway.gateway.views.catalog.value.problems

    assert {**found, "name": "a/b"} == tool("a/b")
    assert (problem.key.name, problem.reason) == ("a", "NameRewritten")
    assert "a/b" in problem.message
    assert found["name"] in problem.message


async def test_names_are_the_same_after_a_restart_and_beside_other_backends() -> None:
    backend, other = Scripted(), Scripted()
    backend.tools = tuple(tool(name) for name in ODD)
    other.tools = backend.tools[:1]

    async with scripted(backend, other):
        async with door(behind(backend)) as gateway:
            alone = await gateway.tools()
        async with door(behind(backend, other)) as gateway:
            together = await gateway.tools()

    assert [name for name in together if name.startswith("a_")] == alone


@ERAS
async def test_a_name_that_utf_8_cannot_write_harms_nobody(era: str) -> None:
    backend = Scripted(era)
    backend.tools = (tool("\ud800"), tool("fine"))

    async with scripted(backend), door(behind(backend)) as gateway:
        (odd,) = [name for name in await gateway.tools() if name != "a_fine"]
        headers = await gateway.session()
        odd_call = await gateway.post(request("tools/call", {"name": odd}), headers)
        fine_call = await gateway.post(request("tools/call", {"name": "a_fine"}), headers)

    assert fine_call.result
    # A header must repeat the name in the stateless era, and no header can.
    assert ("result" in odd_call.message) == (era == SESSIONED)
    assert era == SESSIONED or odd_call.code == -32602


@ERAS
async def test_a_uri_that_utf_8_cannot_write_harms_nobody(era: str) -> None:
    backend = Scripted(era)

    async with scripted(backend), door(behind(backend)) as gateway:
        headers = await gateway.session()
        for method in ("resources/read", "resources/subscribe", "resources/unsubscribe"):
            seen = await gateway.post(request(method, {"uri": "x:\ud800"}), headers)
            assert seen.status == 200
        assert (await gateway.post(request("ping"), headers)).result == {}


async def test_a_name_of_megabytes_is_unknown_like_any_other() -> None:
    async with door(behind()) as gateway:
        headers = await gateway.session()
        for name in ("x" * 2**20, "\ud800", "", "a_echo\0"):
            seen = await gateway.post(request("tools/call", {"name": name}), headers)
            assert (seen.status, seen.code) == (200, -32602)
