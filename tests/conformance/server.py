"""The fixture: an MCP server of the official SDK that has all that the conformance suite asks for.

`python -m tests.conformance.server` listens on 127.0.0.1, prints its URL on one line and serves
until it is told to stop. It speaks both eras, or the one that `--era` names.
"""

from __future__ import annotations

import argparse
import socket
import sys
import warnings
from collections.abc import Callable, Mapping

import uvicorn
from mcp.server import CacheHint, NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    Prompt,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextResourceContents,
    Tool,
    UnsubscribeRequestParams,
)
from mcp_types.methods import CacheableMethod
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.types import ASGIApp

from tests.conformance.call import Call, InputNeededError
from tests.conformance.changes import Changes, Context
from tests.conformance.content import PROMPTS, RESOURCES, TEMPLATE, complete, read
from tests.conformance.eras import OnlySessioned, OnlyStateless
from tests.conformance.events import KeptEvents
from tests.conformance.tools import TOOLS

NAME = "conformance-fixture"
RETRY_MILLISECONDS = 500
SESSIONED_RESOURCE_NOT_FOUND = -32002
CACHEABLE: tuple[CacheableMethod, ...] = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
)
ERAS: Mapping[str, Callable[[ASGIApp], ASGIApp]] = {
    "both": lambda app: app,
    "sessioned": OnlySessioned,
    "stateless": OnlyStateless,
}


class FixtureServer(Server):
    """The SDK's server with our tools, prompts and resources, and lists that change."""

    def __init__(self) -> None:
        self.changes = Changes()
        super().__init__(
            NAME,
            version="1.0.0",
            instructions="Serves what the conformance suite asks for.",
            cache_hints={method: CacheHint(ttl_ms=1000, scope="public") for method in CACHEABLE},
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.unsubscribe,
            on_subscriptions_listen=ListenHandler(self.changes.bus),
            on_completion=self.complete,
        )
        self.add_request_handler("logging/setLevel", SetLevelRequestParams, self.set_level)
        self.add_notification_handler(
            "notifications/initialized", NotificationParams, self.initialized
        )
        security = RequestStateSecurity.ephemeral()
        self.middleware.append(RequestStateBoundary(security, default_audience=NAME))

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, object]] | None = None,
        extensions: dict[str, dict[str, object]] | None = None,
    ) -> InitializationOptions:
        """Say in the handshake that lists change, which the SDK leaves out by itself."""
        changing = NotificationOptions(
            prompts_changed=True, resources_changed=True, tools_changed=True
        )
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions
        )

    async def list_tools(
        self, _ctx: Context, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """List the fixed tools and the one that every change replaces."""
        changing = Tool(
            name=f"test_generation_{self.changes.generation('tools')}",
            description="Is replaced whenever the tools change.",
            input_schema={"type": "object", "properties": {}},
        )
        return ListToolsResult(tools=[*(each.document for each in TOOLS.values()), changing])

    async def call_tool(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Run a tool, or say what it needs from the client first."""
        found = TOOLS.get(params.name)
        if found is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        try:
            return await found.run(Call(ctx, params, self.changes))
        except InputNeededError as needed:
            return needed.result

    async def list_prompts(
        self, _ctx: Context, _params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        """List the fixed prompts and the one that every change replaces."""
        changing = Prompt(
            name=f"test_prompt_generation_{self.changes.generation('prompts')}",
            description="Is replaced whenever the prompts change.",
        )
        return ListPromptsResult(prompts=[*(p.document for p in PROMPTS.values()), changing])

    async def get_prompt(
        self, ctx: Context, params: GetPromptRequestParams
    ) -> GetPromptResult | InputRequiredResult:
        """Get a prompt, or say what it needs from the client first."""
        found = PROMPTS.get(params.name)
        if found is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {params.name}")
        try:
            return await found.run(Call(ctx, params, self.changes))
        except InputNeededError as needed:
            return needed.result

    async def list_resources(
        self, _ctx: Context, _params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """List the fixed resources and the one that every change replaces."""
        changing = Resource(
            uri=self._changing_resource,
            name="generation",
            description="Is replaced whenever the resources change.",
            mime_type="text/plain",
        )
        return ListResourcesResult(resources=[*RESOURCES, changing])

    async def list_templates(
        self, _ctx: Context, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """List the one template."""
        return ListResourceTemplatesResult(resource_templates=[TEMPLATE])

    async def read_resource(
        self, ctx: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """Read a resource, or say in the era's own way that there is none."""
        uri = params.uri
        contents = read(uri, generation=self.changes.generation(uri))
        if uri == self._changing_resource:
            contents = TextResourceContents(uri=uri, mime_type="text/plain", text="It is here.")
        if contents is None:
            is_stateless = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = INVALID_PARAMS if is_stateless else SESSIONED_RESOURCE_NOT_FOUND
            raise MCPError(code, "Resource not found", {"uri": uri})
        return ReadResourceResult(contents=[contents], ttl_ms=0, cache_scope="private")

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        """Tell a session of the updates of a resource."""
        self.changes.watch(ctx, params.uri)
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        """Stop telling a session of the updates of a resource."""
        self.changes.unwatch(ctx, params.uri)
        return EmptyResult()

    async def complete(self, _ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument from a short list of words."""
        values = complete(params.argument)
        return CompleteResult(
            completion=Completion(values=values, total=len(values), has_more=False)
        )

    async def set_level(self, ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
        """Set the lowest level of log messages that a session gets."""
        self.changes.set_level(ctx, params.level)
        return EmptyResult()

    async def initialized(self, ctx: Context, _params: NotificationParams) -> None:
        """Remember the session: changes are told to all that are open."""
        self.changes.opened(ctx)

    @property
    def _changing_resource(self) -> str:
        return f"test://generation/{self.changes.generation('resources')}"


def application(era: str) -> ASGIApp:
    """Return the fixture as an ASGI application that serves the named era at /mcp."""
    served = FixtureServer().streamable_http_app(
        event_store=KeptEvents(), retry_interval=RETRY_MILLISECONDS
    )
    return ERAS[era](served)


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.server")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--era", choices=sorted(ERAS), default="both", help="the era to serve")
    chosen = parser.parse_args()
    # The suite still asks for logging, sampling and roots, which the SDK calls deprecated.
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
    config = uvicorn.Config(
        application(chosen.era),
        # httptools hands on the spaces around a header's value, which are no part of it.
        http="h11",
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
    with socket.create_server(("127.0.0.1", chosen.port)) as listening:
        # Connections are queued from here on, so whoever reads the line may connect.
        sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
