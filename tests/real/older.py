"""A server of the official SDK over the older HTTP+SSE transport: it prints its port."""

from __future__ import annotations

import socket
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel


class Name(BaseModel):
    """What a person is asked."""

    name: str


server = MCPServer("older")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def greet(ctx: Context) -> str:
    """Ask a person for a name, and greet."""
    answer = await ctx.elicit("Who are you?", Name)
    return f"Hello {answer.data.name}" if answer.action == "accept" else answer.action


@server.tool()
async def count(ctx: Context) -> str:
    """Tell of progress."""
    await ctx.report_progress(1, 2)
    return "counted"


def main() -> None:
    """Serve on a free port of the loopback."""
    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(server.sse_app(), log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    main()
