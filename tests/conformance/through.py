"""A client of the suite that is the gateway: the SDK's client speaks to it, and it to the suite's server.

`python -m tests.conformance.through ERA URL`: the suite appends its URL, and names the scenario and
what it wants of the client in the environment. ERA is that of the SDK's client.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import ElicitResult, Tool
from pydantic import ValidationError

from tests.conformance.gateway import GATEWAY
from tests.support.servers import run_gateway

MODES = {"sessioned": "legacy", "stateless": "auto"}
SECONDS = 20
SAMPLES = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}
KEPT_SCHEMA, ECHO = "json_schema_2020_12_tool", "json_schema_echo"
Arguments = Mapping[str, Any]


async def fill_in(_context: object, params: Any) -> ElicitResult:
    """Accept what is asked, with the defaults of the form."""
    fields = (params.requested_schema or {}).get("properties", {})
    content = {name: each["default"] for name, each in fields.items() if "default" in each}
    return ElicitResult(action="accept", content=content or {"confirmed": True})


def calls(tools: Iterable[Tool], context: Mapping[str, Any]) -> list[tuple[str, Arguments]]:
    """Return the calls that a scenario wants: what it names, else each tool once."""
    if "toolCalls" in context:
        return [(each["name"], each["arguments"]) for each in context["toolCalls"]]
    schemas = {tool.name: tool.input_schema for tool in tools}
    if ECHO in schemas:
        return [(ECHO, {"schema": schemas[KEPT_SCHEMA]})]
    return [(name, _samples(schema)) for name, schema in schemas.items()]


def _samples(schema: Mapping[str, Any]) -> Arguments:
    fields = schema.get("properties", {})
    return {name: SAMPLES.get(each.get("type"), "text") for name, each in fields.items()}


async def drive(url: str, mode: str, context: Mapping[str, Any]) -> None:
    """Do all that a scenario may look at."""
    client = Client(url, mode=mode, read_timeout_seconds=SECONDS, elicitation_callback=fill_in)
    async with asyncio.timeout(SECONDS), client as connected:
        tools = (await connected.list_tools()).tools
        for name, arguments in calls(tools, context):
            # What the suite's server answers need not be a result, nor one that the SDK takes.
            with suppress(MCPError, ValidationError):
                await connected.call_tool(name, dict(arguments))
        offered = connected.server_capabilities
        if offered.resources is not None:
            for resource in (await connected.list_resources()).resources:
                await connected.read_resource(resource.uri)
        if offered.prompts is not None:
            for prompt in (await connected.list_prompts()).prompts:
                wanted = {each.name: "text" for each in prompt.arguments or ()}
                await connected.get_prompt(prompt.name, wanted)


def main() -> int:
    """Put a gateway in front of the suite's server and drive it."""
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    era, url = sys.argv[1:]
    # The suite speaks to its clients through the environment.
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))  # noqa: TID251
    with run_gateway(GATEWAY.format(url=url)) as gateway:
        asyncio.run(drive(gateway.url, MODES[era], context))
    return 0


if __name__ == "__main__":
    sys.exit(main())
