"""The official SDK's client works against the gateway over real servers, in both of its modes."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    BlobResourceContents,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    PromptReference,
    ResourceTemplateReference,
    Root,
    TextContent,
    TextResourceContents,
)

from tests.real.conftest import TEXT, World
from tests.real.many import TOOLS

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning"
)

MODES = {"auto": "2026-07-28", "legacy": "2025-11-25"}
# A call of the stateless era says itself which log messages it takes.
LOG_META = {"auto": {"io.modelcontextprotocol/logLevel": "info"}, "legacy": None}
SECONDS = 20
WATCHED = "test://watched-resource"
STATIC = "demo://resource/static/document/architecture.md"

CALLS = [
    ("time_get_current_time", {"timezone": "Europe/Lisbon"}, '"timezone": "Europe/Lisbon"'),
    ("git_git_log", {"repo_path": "{repository}"}, "The first commit"),
    ("files_read_text_file", {"path": "{text}"}, TEXT),
    ("memory_search_nodes", {"query": "nobody"}, '"entities": []'),
    ("everything_echo", {"message": TEXT}, f"Echo: {TEXT}"),
    ("everything_get-sum", {"a": 1.5, "b": 2}, "The sum of 1.5 and 2 is 3.5."),
    ("new_test_simple_text", {}, "This is a simple text response for testing."),
    ("old_test_simple_text", {}, "This is a simple text response for testing."),
    ("new_test_x_mcp_header", {"region": "eü", "limit": 3}, '"limit": 3'),
]

Open = Callable[[], AbstractAsyncContextManager[Client]]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def fill_in(_context: object, _params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"username": "Ann", "email": "a@example.test"})


async def sample(_context: object, _params: object) -> CreateMessageResult:
    said = TextContent(type="text", text="Paris")
    return CreateMessageResult(role="assistant", content=said, model="none")


async def list_roots(_context: object) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///somewhere")])


@asynccontextmanager
async def able(world: World, mode: str) -> AsyncIterator[Client]:
    """A client that can be asked everything."""
    client = Client(
        world.url,
        mode=mode,
        read_timeout_seconds=SECONDS,
        elicitation_callback=fill_in,
        sampling_callback=sample,
        list_roots_callback=list_roots,
    )
    async with client as connected:
        yield connected


def connected(world: World, mode: str) -> Client:
    return Client(world.url, mode=mode, read_timeout_seconds=SECONDS)


async def said(client: Client, tool: str, arguments: dict[str, object]) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def test_a_client_speaks_the_newest_revision_of_its_era(world: World, mode: str) -> None:
    async with connected(world, mode) as client:
        assert client.protocol_version == MODES[mode]


async def test_all_pages_together_show_every_tool_of_every_server_once(
    world: World, mode: str
) -> None:
    names: list[str] = []
    cursor = None
    async with connected(world, mode) as client:
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            if (cursor := page.next_cursor) is None:
                break

    assert len(names) == len(set(names))
    assert len([name for name in names if name.startswith("many_")]) == TOOLS
    assert {tool for tool, _, _ in CALLS} < set(names)


@pytest.mark.parametrize(("tool", "arguments", "answer"), CALLS, ids=[tool for tool, _, _ in CALLS])
async def test_a_tool_answers(
    world: World, mode: str, tool: str, arguments: dict[str, object], answer: str
) -> None:
    async with connected(world, mode) as client:
        assert answer in await said(client, tool, world.filled(arguments))


async def test_what_one_client_writes_another_one_finds(world: World, mode: str) -> None:
    entity = {"name": f"Ada of {mode}", "entityType": "person", "observations": [TEXT]}
    async with connected(world, mode) as client:
        await client.call_tool("memory_create_entities", {"entities": [entity]})
    async with connected(world, mode) as client:
        result = await client.call_tool("memory_search_nodes", {"query": f"Ada of {mode}"})

    assert result.structured_content == {"entities": [entity], "relations": []}


async def test_an_error_of_a_tool_is_its_result(world: World, mode: str) -> None:
    async with connected(world, mode) as client:
        result = await client.call_tool("old_test_error_handling", {})

    assert result.is_error


async def test_an_unknown_tool_is_an_error_of_the_protocol(world: World, mode: str) -> None:
    async with connected(world, mode) as client:
        with pytest.raises(MCPError, match="Unknown tool: none") as caught:
            await client.call_tool("none", {})

    assert caught.value.error.code == -32602


async def test_prompts_are_listed_and_got(world: World, mode: str) -> None:
    async with connected(world, mode) as client:
        names = {prompt.name for prompt in (await client.list_prompts()).prompts}
        got = await client.get_prompt("everything_args-prompt", {"city": "Köln", "state": "NW"})

    assert {"everything_args-prompt", "new_test_simple_prompt", "old_test_simple_prompt"} < names
    assert isinstance(got.messages[0].content, TextContent)
    assert "Köln, NW" in got.messages[0].content.text


async def test_resources_are_listed_and_read(world: World, mode: str) -> None:
    async with connected(world, mode) as client:
        uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
        text = (await client.read_resource(STATIC)).contents[0]
        binary = (await client.read_resource("test://static-binary")).contents[0]

    assert {STATIC, "memory://knowledge-graph", "test://static-text"} < uris
    assert isinstance(text, TextResourceContents)
    assert "Architecture" in text.text
    assert isinstance(binary, BlobResourceContents)
    assert base64.b64decode(binary.blob).startswith(b"\x89PNG")


async def test_a_uri_that_no_list_shows_is_read_by_its_template(world: World, mode: str) -> None:
    async with connected(world, mode) as client:
        templates = (await client.list_resource_templates()).resource_templates
        read = (await client.read_resource("demo://resource/dynamic/text/7")).contents[0]

    assert "demo://resource/dynamic/text/{resourceId}" in {each.uri_template for each in templates}
    assert isinstance(read, TextResourceContents)
    assert "Resource 7" in read.text


async def test_arguments_are_completed(world: World, mode: str) -> None:
    prompt = PromptReference(type="ref/prompt", name="everything_completable-prompt")
    template = ResourceTemplateReference(
        type="ref/resource", uri="demo://resource/dynamic/text/{resourceId}"
    )
    async with connected(world, mode) as client:
        departments = await client.complete(prompt, {"name": "department", "value": "E"})
        numbers = await client.complete(template, {"name": "resourceId", "value": "7"})

    assert departments.completion.values == ["Engineering"]
    assert numbers.completion.values == ["7"]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        (
            "everything_trigger-long-running-operation",
            {"duration": 0.3, "steps": 3},
            [(1, 3), (2, 3), (3, 3)],
        ),
        ("new_test_tool_with_progress", {}, [(0, 100), (50, 100), (100, 100)]),
        ("old_test_tool_with_progress", {}, [(0, 100), (50, 100), (100, 100)]),
    ],
    ids=["everything", "new", "old"],
)
async def test_progress_reaches_the_caller(
    world: World,
    mode: str,
    tool: str,
    arguments: dict[str, object],
    expected: list[tuple[float, float]],
) -> None:
    seen: list[tuple[float, float | None]] = []

    async def progressed(progress: float, total: float | None, _message: str | None) -> None:
        seen.append((progress, total))

    async with connected(world, mode) as client:
        await client.call_tool(tool, arguments, progress_callback=progressed)

    assert seen == expected


@pytest.mark.parametrize("server", ["new", "old"])
async def test_log_messages_of_a_call_reach_the_caller(
    world: World, mode: str, server: str
) -> None:
    heard: list[object] = []

    async def logged(params: LoggingMessageNotificationParams) -> None:
        heard.append(params.data)

    async with Client(world.url, mode=mode, logging_callback=logged) as client:
        if mode == "legacy":
            await client.set_logging_level("info")
        await client.call_tool(f"{server}_test_tool_with_logging", {}, meta=LOG_META[mode])

    assert heard == ["Tool execution started", "Tool processing data", "Tool execution completed"]


@pytest.mark.parametrize("server", ["new", "old"])
async def test_a_session_hears_that_a_list_has_changed(world: World, server: str) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: object) -> None:
        heard.put_nowait(type(message).__name__)

    async with Client(world.url, mode="legacy", message_handler=hear) as client:
        before = await generations(client, server)
        await client.call_tool(f"{server}_test_trigger_tool_change", {})
        async with asyncio.timeout(SECONDS):
            while await heard.get() != "ToolListChangedNotification":
                pass
        after = await generations(client, server)

    assert len(before) == len(after) == 1
    assert before != after


@pytest.mark.parametrize("server", ["new", "old"])
async def test_a_listener_hears_that_a_list_has_changed(world: World, server: str) -> None:
    async with (
        connected(world, "auto") as client,
        client.listen(tools_list_changed=True) as changes,
        asyncio.timeout(SECONDS),
    ):
        before = await generations(client, server)
        await client.call_tool(f"{server}_test_trigger_tool_change", {})
        event = await anext(changes)
        after = await generations(client, server)

    assert type(event).__name__ == "ToolsListChanged"
    assert len(before) == len(after) == 1
    assert before != after


async def generations(client: Client, server: str) -> set[str]:
    """The names of the tools that a change replaces; the first page has all but those of `many`."""
    names: set[str] = set()
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        names |= {tool.name for tool in page.tools}
        if (cursor := page.next_cursor) is None:
            return {name for name in names if name.startswith(f"{server}_test_generation_")}


async def test_a_session_hears_of_a_resource_that_it_subscribed_to(world: World) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: object) -> None:
        heard.put_nowait(type(message).__name__)

    async with Client(world.url, mode="legacy", message_handler=hear) as client:
        await client.subscribe_resource(WATCHED)
        async with asyncio.timeout(SECONDS):
            await updated(client, heard)
        await client.unsubscribe_resource(WATCHED)


async def updated(client: Client, heard: asyncio.Queue[str]) -> None:
    """Update the resource until its watcher hears: the stream to the backend may open late."""
    while True:
        await client.call_tool("new_test_trigger_resource_update", {"uri": WATCHED})
        try:
            async with asyncio.timeout(0.5):
                while await heard.get() != "ResourceUpdatedNotification":
                    pass
        except TimeoutError:
            continue
        return


async def test_a_listener_hears_of_a_resource_that_it_subscribed_to(world: World) -> None:
    async with (
        connected(world, "auto") as client,
        client.listen(resource_subscriptions=[WATCHED]) as changes,
        asyncio.timeout(SECONDS),
    ):
        heard: asyncio.Queue[str] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(overheard(changes, heard))
            await updated(client, heard)
            listening.cancel()


async def overheard(changes: AsyncIterator[object], heard: asyncio.Queue[str]) -> None:
    async for event in changes:
        assert type(event).__name__ == "ResourceUpdated"
        heard.put_nowait("ResourceUpdatedNotification")


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("old_test_elicitation", {"message": "Who?"}, "Ann"),
        ("old_test_sampling", {"prompt": "Which?"}, "Paris"),
        ("everything_trigger-sampling-request", {"prompt": "Which?"}, "Paris"),
        ("everything_trigger-elicitation-request", {}, "Ann"),
        ("new_test_elicitation", {"message": "Who?"}, "Ann"),
        ("new_test_sampling", {"prompt": "Which?"}, "Paris"),
        ("new_test_input_required_result_list_roots", {}, "file:///somewhere"),
        ("new_test_input_required_result_request_state", {}, "state-ok"),
    ],
    ids=lambda value: value if isinstance(value, str) and "_" in value else "",
)
async def test_a_server_of_either_era_may_ask_a_client_of_either_era(
    world: World, mode: str, tool: str, arguments: dict[str, object], answer: str
) -> None:
    async with able(world, mode) as client:
        assert answer in await said(client, tool, arguments)
