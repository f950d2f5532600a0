"""The fixture's tools do the same for clients of both eras, each asked in its own way."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)

from tests.conformance.content import WATCHED
from tests.support.servers import fixture_server

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning"
)

MODES = {"legacy": "sessioned", "2026-07-28": "stateless"}
each_mode = pytest.mark.parametrize("mode", MODES, ids=MODES.values())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with fixture_server() as served:
        yield served


async def fill_in(_context: object, params: ElicitRequestFormParams) -> ElicitResult:
    fields = params.requested_schema["properties"]
    content = {name: field.get("default", "Ann") for name, field in fields.items()}
    return ElicitResult(action="accept", content=content | ({"ok": True} if "ok" in fields else {}))


async def sample(_context: object, _params: object) -> CreateMessageResult:
    said = TextContent(type="text", text="Paris")
    return CreateMessageResult(role="assistant", content=said, model="none")


async def list_roots(_context: object) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///somewhere")])


@asynccontextmanager
async def client(url: str, mode: str) -> AsyncIterator[Client]:
    able = Client(
        url,
        mode=mode,
        elicitation_callback=fill_in,
        sampling_callback=sample,
        list_roots_callback=list_roots,
    )
    async with able as connected:
        yield connected


async def said(connected: Client, tool: str, arguments: dict[str, object]) -> str:
    result = await connected.call_tool(tool, arguments)
    assert not result.is_error
    return " ".join(block.text for block in result.content if isinstance(block, TextContent))


@each_mode
@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("test_sampling", {"prompt": "Which?"}, "LLM response: Paris"),
        ("test_elicitation", {"message": "Who?"}, 'action=accept, content={"username": "Ann"'),
        ("test_elicitation_sep1034_defaults", {}, '"age": 30'),
        ("test_input_required_result_elicitation", {}, "Hello, Ann!"),
        ("test_input_required_result_list_roots", {}, "Roots: file:///somewhere"),
        ("test_input_required_result_multiple_inputs", {}, "greeting: Paris"),
        ("test_input_required_result_multi_round", {}, "Both steps are done: action=accept"),
        ("test_input_required_result_request_state", {}, "state-ok"),
        ("test_input_required_result_capabilities", {}, "client_roots, greeting, user_name"),
        ("test_x_mcp_header", {"region": "eu", "limit": 3}, '{"limit": 3, "region": "eu"}'),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("test_") else "",
)
async def test_a_tool_gets_its_answers_from_the_client(
    url: str, mode: str, tool: str, arguments: dict[str, object], answer: str
) -> None:
    async with client(url, mode) as connected:
        assert answer in await said(connected, tool, arguments)


@each_mode
async def test_a_tool_asks_nothing_that_the_client_did_not_declare(url: str, mode: str) -> None:
    async with Client(url, mode=mode) as unable:
        with pytest.raises(MCPError, match="needs the client capability 'sampling'"):
            await unable.call_tool("test_sampling", {"prompt": "Which?"})


@each_mode
async def test_a_changed_list_shows_another_name(url: str, mode: str) -> None:
    async with client(url, mode) as connected:
        before = {tool.name for tool in (await connected.list_tools()).tools}
        await said(connected, "test_trigger_tool_change", {})
        after = {tool.name for tool in (await connected.list_tools(cache_mode="bypass")).tools}

    assert len(before - after) == len(after - before) == 1


async def test_a_session_hears_of_the_resource_that_it_watches(url: str) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: object) -> None:
        heard.put_nowait(type(message).__name__)

    async with Client(url, mode="legacy", message_handler=hear) as connected:
        await connected.subscribe_resource(WATCHED)
        await connected.call_tool("test_trigger_resource_update", {"uri": WATCHED})
        async with asyncio.timeout(20):
            first = await heard.get()

    assert first == "ResourceUpdatedNotification"
