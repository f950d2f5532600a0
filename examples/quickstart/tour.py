"""A tour of the gateway with the official SDK's client: lists, then calls in both eras of MCP.

It works against each gateway that serves vmcp.yaml of this folder: python tour.py [URL]
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_types import TextContent

from vmcp.config.load import load
from vmcp.discovery.static import contribution
from vmcp.model.backend import Backend, StdioEndpoint

CONFIG = Path(__file__).parent / "vmcp.yaml"
URL = "http://127.0.0.1:4483/mcp"
# The SDK's names for the two eras.
MODES = {"sessioned": "legacy", "stateless": "2026-07-28"}
NAMED = 4
SHOWN = 56
SECONDS = 30


@dataclass(frozen=True)
class Call:
    """One call of the tour: whose tool, and a text that its result must hold."""

    backend: str
    tool: str
    expected: str
    arguments: Mapping[str, object] = field(default_factory=dict)


ADA = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
CALLS = (
    Call("time", "get_current_time", "Europe/Lisbon", {"timezone": "Europe/Lisbon"}),
    Call("memory", "create_entities", "Ada", {"entities": [ADA]}),
    Call("memory", "search_nodes", "wrote the first program", {"query": "Ada"}),
    Call("memory", "delete_entities", "deleted", {"entityNames": ["Ada"]}),
    Call("files", "list_directory", "welcome.txt", {"path": "."}),
    Call("files", "files_read_file", "filesystem server", {"path": "welcome.txt"}),
    Call("notes", "notes_read_file", "Sow beans", {"name": "garden"}),
    Call("notes", "count_words", "harbour"),
)


async def tour(url: str, config: Path) -> int:
    """Show what the gateway offers and does; return how many things went wrong."""
    backends = contribution(load(config, os.environ)).backends
    failures = await _lists(url, backends)
    for era, mode in MODES.items():
        async with Client(url, mode=mode, read_timeout_seconds=SECONDS) as client:
            print(f"\nA client of the {era} era, MCP {client.protocol_version}:")
            failures += [await _called(client, call) for call in CALLS].count(False)
            failures += [await _shown(*one) for one in _others(client)].count(False)
    return failures


async def _lists(url: str, backends: Sequence[Backend]) -> int:
    """Ask each server alone for its tools, and print by which names the gateway offers them."""
    async with asyncio.TaskGroup() as tasks:
        asked = {one.name: tasks.create_task(_own_tools(one)) for one in backends}
    own = {name: task.result() for name, task in asked.items()}
    offered = await _tools(url)
    public = {name: [_public(name, tool, own) for tool in tools] for name, tools in own.items()}
    print(f"\nThe gateway offers {len(offered)} tools of {len(own)} servers:")
    for name, tools in public.items():
        more = f" and {len(tools) - NAMED} more" if len(tools) > NAMED else ""
        print(f"  {name:<7}{len(tools):>3}  {', '.join(tools[:NAMED])}{more}")
    shared = sorted({tool for tools in own.values() for tool in tools if _is_shared(tool, own)})
    for tool in shared:
        both = " and ".join(_public(name, tool, own) for name in own if tool in own[name])
        print(f"  Two servers have '{tool}', so clients see {both}.")
    if sorted(offered) != sorted(tool for tools in public.values() for tool in tools):
        print("  FAILED: these are not the tools that the gateway lists.")
        return 1
    return 0


async def _tools(server: Any) -> list[str]:
    names: list[str] = []
    cursor = None
    async with Client(server, read_timeout_seconds=SECONDS) as client:
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return names


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w")


async def _own_tools(backend: Backend) -> list[str]:
    """List the tools of a server without the gateway."""
    endpoint = backend.endpoint
    if not isinstance(endpoint, StdioEndpoint):
        return await _tools(endpoint.url)
    env = {name: value.reveal() for name, value in endpoint.env}
    with _nowhere() as nowhere:
        server = StdioServerParameters(
            command=endpoint.command, args=list(endpoint.args), env=env, cwd=endpoint.cwd
        )
        return await _tools(stdio_client(server, errlog=nowhere))


def _is_shared(tool: str, own: Mapping[str, Sequence[str]]) -> bool:
    return sum(tool in tools for tools in own.values()) > 1


def _public(backend: str, tool: str, own: Mapping[str, Sequence[str]]) -> str:
    return f"{backend}_{tool}" if _is_shared(tool, own) else tool


async def _called(client: Client, call: Call) -> bool:
    """Call a tool, print a line about it, and tell whether it did what it should."""
    progress = 0

    async def count(*_: object) -> None:
        nonlocal progress
        progress += 1

    async def text() -> str:
        result = await client.call_tool(call.tool, dict(call.arguments), progress_callback=count)
        found = "".join(one.text for one in result.content if isinstance(one, TextContent))
        if result.is_error:
            raise ValueError(found)
        return f"{found} [{progress} progress notifications]" if progress else found

    return await _shown(call.backend, call.tool, text(), call.expected)


def _others(client: Client) -> list[tuple[str, str, Awaitable[str], str]]:
    """Return what is no tool: a resource, a resource of a template, and a prompt."""

    async def read(uri: str) -> str:
        return "".join(
            getattr(one, "text", "") for one in (await client.read_resource(uri)).contents
        )

    async def prompt() -> str:
        result = await client.get_prompt("summarise", {"name": "kitchen"})
        return "".join(getattr(one.content, "text", "") for one in result.messages)

    return [
        ("notes", "notes://index", read("notes://index"), "harbour"),
        ("notes", "notes://note/harbour", read("notes://note/harbour"), "Three ships"),
        ("notes", "prompt summarise", prompt(), "Bread"),
    ]


async def _shown(backend: str, what: str, work: Awaitable[str], expected: str) -> bool:
    began = time.perf_counter()
    try:
        found = await work
    except (MCPError, ValueError) as error:
        print(f"  {backend:<7} {what:<21} FAILED: {error}")
        return False
    milliseconds = (time.perf_counter() - began) * 1000
    words = " ".join(found.split())
    line = words if len(words) <= SHOWN else f"{words[: SHOWN - 1]}…"
    is_right = expected in words
    print(f"  {backend:<7} {what:<21} {milliseconds:5.0f} ms  {line}")
    if not is_right:
        print(f"  {'':<7} FAILED: '{expected}' is not in it.")
    return is_right


if __name__ == "__main__":
    sys.exit(min(asyncio.run(tour(sys.argv[1] if len(sys.argv) > 1 else URL, CONFIG)), 1))
