"""One call of a tool: find it, read its arguments, call it, print what came."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from mcp import Client, Tool
from mcp_types import CallToolResult

from vmcp.cli import arguments, content, output
from vmcp.cli.client import ask, follow
from vmcp.cli.listing import plain
from vmcp.cli.output import TextFormat
from vmcp.cli.progress import bar
from vmcp.cli.stop import ExitCode, Stop
from vmcp.cli.target import Target


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to call: `words` are read by the tool's schema, `given` is a JSON object or None."""

    tool: str
    words: Sequence[str] = ()
    given: Mapping[str, object] | None = None


def call(target: Target, wanted: Wanted, printed: TextFormat) -> None:
    """Call a tool and print its result; raise Stop when the tool reports an error."""
    result = ask(target, lambda client: _call(client, wanted))
    if printed is TextFormat.JSON:
        output.emit_json(plain(result))
    else:
        _show(result)
    if result.is_error:
        raise Stop(f"The tool '{wanted.tool}' reports an error.", ExitCode.FAILED)


def read_json(source: str) -> Mapping[str, object]:
    """Return the JSON object that `--json` names: itself, @FILE, or - for standard input."""
    try:
        found = json.loads(_text(source))
    except (ValueError, RecursionError) as error:
        raise Stop(f"--json is no JSON: {error}.", ExitCode.USAGE) from None
    except OSError as error:
        raise Stop(f"--json {source}: {error.strerror}.", ExitCode.USAGE) from None
    if not isinstance(found, dict):
        raise Stop("--json takes an object with the tool's arguments.", ExitCode.USAGE)
    return found


def _text(source: str) -> str:
    if source == "-":
        return sys.stdin.read()
    return Path(source[1:]).read_text("utf-8") if source.startswith("@") else source


async def _call(client: Client, wanted: Wanted) -> CallToolResult:
    tool = await _find(client, wanted.tool)
    given = _arguments(tool, wanted)
    with bar(tool.name) as notice:
        return await client.call_tool(tool.name, given, progress_callback=notice)


async def _find(client: Client, name: str) -> Tool:
    """Return the tool's document; the search ends on its page."""
    seen: list[str] = []
    if client.server_capabilities.tools is not None:
        async for page in follow(lambda cursor: client.list_tools(cursor=cursor)):
            for tool in page.tools:
                if tool.name == name:
                    return tool
                seen.append(tool.name)
    raise Stop(_unknown(name, seen), ExitCode.UNKNOWN_TOOL)


def _unknown(name: str, known: Sequence[str]) -> str:
    # A name without its prefix is the usual mistake, and further away than a typing error.
    ends = [one for one in known if one.endswith(name)]
    near = ends[:3] or get_close_matches(name, known, n=3)
    if near:
        proposals = " or ".join(f"'{one}'" for one in near)
        return f"There is no tool '{name}'. Did you mean {proposals}?"
    return f"There is no tool '{name}' among {len(known)}: 'vmcp tools' lists them."


def _arguments(tool: Tool, wanted: Wanted) -> dict[str, object]:
    try:
        given = {**(wanted.given or {}), **arguments.read(wanted.words, tool.input_schema)}
        if wanted.given is None:
            # What --json gives is the server's to judge.
            arguments.require(given, tool.input_schema)
    except arguments.BadArgument as error:
        raise Stop(f"Tool '{tool.name}': {error}.", ExitCode.USAGE) from None
    return given


def _show(result: CallToolResult) -> None:
    for text in content.lines(result):
        output.emit(output.visible(text) if output.on_terminal() else text)
