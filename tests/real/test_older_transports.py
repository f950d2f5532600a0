"""The official SDK's clients and servers of stdio and HTTP+SSE work with the gateway as a process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp_types import ElicitResult, TextContent

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a Python module as a process for the block."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, text=True, **pipes) as running:
        try:
            yield running
        finally:
            running.terminate()
            running.communicate(timeout=SECONDS)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write a configuration whose backend is a server of the SDK over the older transport."""
    file = tmp_path_factory.mktemp("older") / "vmcp.json"
    with process("tests.real.older") as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/sse"
        settings = {"backends": [{"name": "old", "url": url}], "server": {"sse": True}}
        file.write_text(json.dumps(settings))
        yield file


@pytest.fixture(scope="module")
def url(file: Path) -> Iterator[str]:
    """Run the gateway and return where its older transport is."""
    words = ("serve", "-c", str(file), "--port", "0", "--ops-port", "0")
    with process("vmcp", *words) as gateway:
        assert gateway.stderr is not None
        listening = json.loads(gateway.stderr.readline())
        while json.loads(gateway.stderr.readline())["message"] != "backend is ready":
            pass
        yield listening["url"].replace("/mcp", "/sse")


async def fill_in(_context: object, _params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ann"})


def launched(file: Path) -> StdioServerParameters:
    """Return how a client launches the gateway."""
    args = ["-m", "vmcp", "serve", "--stdio", "-c", str(file)]
    return StdioServerParameters(command=sys.executable, args=args, cwd=ROOT)


@asynccontextmanager
async def session(transport: str, file: Path, url: str) -> AsyncIterator[ClientSession]:
    """Open a session over one of the transports."""
    way = sse_client(url) if transport == "sse" else stdio_client(launched(file))
    async with (
        asyncio.timeout(SECONDS),
        way as (read, write),
        ClientSession(read, write, elicitation_callback=fill_in) as opened,
    ):
        await opened.initialize()
        yield opened


def words(result: object) -> str:
    """Return the text of a result."""
    (content,) = result.content  # type: ignore[attr-defined]
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("transport", ["sse", "stdio"])
async def test_a_session_lists_calls_hears_progress_and_is_asked(
    transport: str, file: Path, url: str
) -> None:
    told: list[float] = []

    async def hear(progress: float, _total: float | None, _message: str | None) -> None:
        told.append(progress)

    async with session(transport, file, url) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        added = await client.call_tool("old_add", {"a": 1, "b": 2})
        greeted = await client.call_tool("old_greet", {})
        counted = await client.call_tool("old_count", {}, progress_callback=hear)

    assert listed == {"old_add", "old_greet", "old_count"}
    assert (words(added), words(greeted), words(counted)) == ("3", "Hello Ann", "counted")
    assert told == [1]


async def test_a_client_of_the_newest_revision_launches_the_gateway(file: Path) -> None:
    async with asyncio.timeout(SECONDS), Client(stdio_client(launched(file))) as client:
        added = await client.call_tool("old_add", {"a": 1, "b": 2})

        assert client.session.protocol_version == "2026-07-28"
        assert words(added) == "3"


def test_lines_of_a_file_are_answered_and_its_end_ends_the_gateway(file: Path) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    given = "\n".join(json.dumps(request) for request in requests)

    ended = subprocess.run(
        [sys.executable, "-m", "vmcp", "serve", "--stdio", "-c", str(file)],
        cwd=ROOT,
        text=True,
        input=given,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )

    first, second = map(json.loads, ended.stdout.splitlines())
    assert ended.returncode == 0
    assert (first["id"], second["id"]) == (1, 2)
    assert len(second["result"]["tools"]) == 3


def test_ports_beside_stdio_are_refused(file: Path) -> None:
    with process("vmcp", "serve", "--stdio", "--port", "0", "-c", str(file)) as gateway:
        out, err = gateway.communicate(timeout=SECONDS)

    assert (gateway.returncode, out) == (2, "")
    assert "--port" in err
