"""The lists of a running server, all pages of them, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from mcp import Client
from mcp_types import Prompt, Resource, ResourceTemplate
from pydantic import BaseModel

from vmcp.cli import output
from vmcp.cli.arguments import summary
from vmcp.cli.client import about, ask, follow
from vmcp.cli.output import TableFormat, first_line
from vmcp.cli.target import Target

Documents = Mapping[str, Sequence[BaseModel]]


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server said: rows for people, documents under the protocol's names for programs."""

    server: str
    kind: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    documents: Documents


def show(
    target: Target, fetch: Callable[[Client], Awaitable[Listing]], printed: TableFormat
) -> None:
    """Fetch a list and print it; on a terminal a remark says how much it is, and of whom."""
    listing = ask(target, fetch)
    if printed is TableFormat.JSON:
        documents = listing.documents.items()
        output.emit_json({key: [plain(one) for one in found] for key, found in documents})
        return
    if listing.rows:
        output.emit_table(listing.columns, listing.rows)
    if output.on_terminal() or not listing.rows:
        output.remark(f"{len(listing.rows)} {listing.kind} from {listing.server}")


def plain(document: BaseModel) -> object:
    """Return a document as JSON with just the members that the server sent."""
    return document.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def tools(client: Client) -> Listing:
    """List the tools."""
    found = []
    if client.server_capabilities.tools is not None:
        async for page in follow(lambda cursor: client.list_tools(cursor=cursor)):
            found += page.tools
    rows = [
        (tool.name, summary(tool.input_schema), first_line(tool.description or tool.title))
        for tool in found
    ]
    return Listing(
        about(client), "tools", ("Name", "Arguments", "Description"), rows, {"tools": found}
    )


async def prompts(client: Client) -> Listing:
    """List the prompts."""
    found = []
    if client.server_capabilities.prompts is not None:
        async for page in follow(lambda cursor: client.list_prompts(cursor=cursor)):
            found += page.prompts
    rows = [
        (prompt.name, _arguments(prompt), first_line(prompt.description or prompt.title))
        for prompt in found
    ]
    columns = ("Name", "Arguments", "Description")
    return Listing(about(client), "prompts", columns, rows, {"prompts": found})


async def resources(client: Client) -> Listing:
    """List the resources and the resource templates."""
    found, templates = [], []
    if client.server_capabilities.resources is not None:
        async for page in follow(lambda cursor: client.list_resources(cursor=cursor)):
            found += page.resources
        async for more in follow(lambda cursor: client.list_resource_templates(cursor=cursor)):
            templates += more.resource_templates
    rows = [
        *(_resource(one.uri, one) for one in found),
        *(_resource(one.uri_template, one) for one in templates),
    ]
    documents: Documents = {"resources": found, "resourceTemplates": templates}
    return Listing(about(client), "resources", ("URI", "Type", "Description"), rows, documents)


def _arguments(prompt: Prompt) -> str:
    given = prompt.arguments or ()
    return ", ".join(one.name if one.required else f"{one.name}?" for one in given)


def _resource(place: str, one: Resource | ResourceTemplate) -> tuple[str, str, str]:
    return place, one.mime_type or "", first_line(one.description or one.title or one.name)
