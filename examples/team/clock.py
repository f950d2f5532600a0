"""A small MCP server on standard input and output: one tool that tells the time."""

from __future__ import annotations

from datetime import UTC, datetime

from mcp.server.mcpserver import MCPServer

server = MCPServer("clock", version="1")


@server.tool()
def now() -> str:
    """Tell the time in UTC."""
    return datetime.now(UTC).isoformat()


if __name__ == "__main__":
    server.run("stdio")
