"""The echo backend speaks both eras as the official client expects it."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager

import pytest
from mcp import Client as SdkClient
from mcp import MCPError, types

from benchmarks.client import Client, WrongAnswer
from benchmarks.echo import Options, Site
from benchmarks.eras import ERAS, SESSIONED, STATELESS
from benchmarks.processes import fetch
from benchmarks.wire import Place
from tests.benchmarks.serving import serving

SDK_MODES = {SESSIONED: "legacy", STATELESS: "2026-07-28"}


def echo(
    *, tools: int = 3, page: int = 0, eras: tuple[str, ...] = ERAS, has_sessions: bool = True
) -> AbstractAsyncContextManager[str]:
    return serving(Site(Options(tools, page, eras, has_sessions)).respond)


@pytest.mark.parametrize("era", ERAS)
async def test_the_official_client_calls_the_echo_tool(era: str) -> None:
    async with echo() as site, SdkClient(f"{site}/mcp", mode=SDK_MODES[era]) as client:
        result = await client.call_tool("echo", {"text": "héllo"})

    assert not result.is_error
    assert result.content[0].text == "héllo"


@pytest.mark.parametrize("era", ERAS)
async def test_the_official_client_lists_all_pages(era: str) -> None:
    names: list[str] = []
    mode = SDK_MODES[era]
    async with echo(tools=5, page=2) as site, SdkClient(f"{site}/b7/mcp", mode=mode) as client:
        page = await client.list_tools()
        names += [tool.name for tool in page.tools]
        while page.next_cursor:
            page = await client.list_tools(cursor=page.next_cursor)
            names += [tool.name for tool in page.tools]

    assert names == ["echo", "tool_0001", "tool_0002", "tool_0003", "tool_0004"]


@pytest.mark.parametrize("era", ERAS)
async def test_the_official_client_finds_the_era_by_itself(era: str) -> None:
    async with echo(eras=(era,)) as site, SdkClient(f"{site}/mcp") as client:
        result = await client.call_tool("echo", {"text": "a", "size": 4})

        counts = json.loads((await fetch(f"{site}/stats")).body)

    assert result.content[0].text == "axxx"
    assert counts[f"{era} tools/call"] == 1


@pytest.mark.parametrize("era", ERAS)
async def test_the_own_client_calls_and_lists(era: str) -> None:
    async with echo(tools=5, page=2) as site:
        client = await Client.connect(f"{site}/mcp", era)
        await client.open()
        first = await client.ask("tools/list", {})
        second = await client.ask("tools/list", {"cursor": first.next_cursor})
        called = await client.ask(
            "tools/call", {"name": "echo", "arguments": {"text": "t"}}, name="echo"
        )
        await client.close()

    assert [tool.name for tool in first.tools + second.tools][-1] == "tool_0003"
    assert called.content[0].text == "t"


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_tool_is_an_error(era: str) -> None:
    async with echo() as site, SdkClient(f"{site}/mcp", mode=SDK_MODES[era]) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("nothing", {})

    assert raised.value.code == -32602


async def test_a_session_ends_with_delete() -> None:
    async with echo() as site:
        client = await Client.connect(f"{site}/mcp", SESSIONED)
        await client.open()
        ended = client.request("tools/list", {})
        await client.end()
        answer = await client.connection.fetch(ended)
        client.connection.close()

    assert answer.status == 404


async def test_without_sessions_no_session_id_is_given_out_or_asked_for() -> None:
    async with echo(has_sessions=False) as site:
        client = await Client.connect(f"{site}/mcp", SESSIONED)
        answer = await client.connection.fetch(client.request("initialize", {}))
        listed = await client.ask("tools/list", {})
        client.connection.close()

    assert answer.session == b""
    assert len(listed.tools) == 3


@pytest.mark.parametrize(("served", "spoken"), [(SESSIONED, STATELESS), (STATELESS, SESSIONED)])
async def test_the_other_era_is_refused(served: str, spoken: str) -> None:
    async with echo(eras=(served,)) as site:
        client = await Client.connect(f"{site}/mcp", spoken)
        with pytest.raises(WrongAnswer, match="HTTP 400"):
            await client.greet()
        client.connection.close()


async def test_a_listener_hears_that_the_tools_have_grown() -> None:
    async with echo() as site, SdkClient(f"{site}/mcp", mode="2026-07-28") as client:
        async with client.listen(tools_list_changed=True) as changes:
            await fetch(f"{site}/grow", "POST")
            await anext(aiter(changes))
        listed = await client.list_tools()

    assert len(listed.tools) == 4


async def test_a_get_stream_hears_that_the_tools_have_grown() -> None:
    async with echo() as site:
        client = await Client.connect(f"{site}/mcp", SESSIONED)
        await client.open()
        place = Place.of(f"{site}/mcp")
        reader, writer = await asyncio.open_connection(place.host, place.port)
        writer.write(place.head("GET", client.headers) + b"\r\n")
        await reader.readuntil(b": open")
        await fetch(f"{site}/grow", "POST")
        heard = await reader.readuntil(b"}")
        writer.close()
        await writer.wait_closed()
        await client.close()

    assert b"notifications/tools/list_changed" in heard


async def test_a_call_that_asks_ends_once_its_client_has_answered() -> None:
    async with echo(eras=(SESSIONED,)) as site:
        asked: list[str] = []

        async def say(_context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
            asked.append(params.message)
            return types.ElicitResult(action="accept", content={})

        url = f"{site}/mcp"
        async with SdkClient(url, mode="legacy", elicitation_callback=say) as client:
            result = await client.call_tool("echo", {"text": "hello", "ask": True})
            again = await client.call_tool("echo", {"text": "again"})

    assert asked == ["Go on?"]
    assert [result.content[0].text, again.content[0].text] == ["hello", "again"]
