"""A small MCP server over HTTP, written with the official SDK: a shelf of notes.

It stands for a server of your own. One of its tools, `read_file`, has a name that the filesystem
server uses as well: the gateway gives both a prefix, so that neither is lost.
"""

from __future__ import annotations

import argparse

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

NOTES = {
    "harbour": "Three ships came in on Monday. The crane needs oil.",
    "garden": "Sow beans in May. The crane by the pond is a bird, not a machine.",
    "kitchen": "Bread: 500 g of flour, 350 g of water, 10 g of salt. Wait.",
}

server = MCPServer(
    "notes",
    version="1.0.0",
    instructions="Search notes, then read them by name.",
    log_level="WARNING",
)


@server.tool()
def search_notes(word: str) -> list[str]:
    """Name the notes that hold a word."""
    return [name for name, text in NOTES.items() if word.lower() in text.lower()]


@server.tool()
def read_file(name: str) -> str:
    """Read one note by its name."""
    if name not in NOTES:
        raise ToolError(f"There is no note '{name}'; there are {', '.join(NOTES)}.")
    return NOTES[name]


@server.tool()
async def count_words(context: Context) -> dict[str, int]:
    """Count the words of each note, with a progress notification for each."""
    counts = {}
    for done, (name, text) in enumerate(NOTES.items(), start=1):
        counts[name] = len(text.split())
        await context.report_progress(done, len(NOTES), f"counted {name}")
    return counts


@server.prompt()
def summarise(name: str) -> str:
    """Ask for a summary of one note."""
    return f"Summarise this note in one sentence:\n\n{NOTES.get(name, '')}"


@server.resource("notes://index", mime_type="text/plain")
def index() -> str:
    """List the names of all notes."""
    return "\n".join(NOTES)


@server.resource("notes://note/{name}", mime_type="text/plain")
def note(name: str) -> str:
    """Give one note by its name."""
    return NOTES[name]


def main() -> None:
    """Serve streamable HTTP on 127.0.0.1 until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=4490)
    port = parser.parse_args().port
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
