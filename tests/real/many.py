"""A server of the official SDK with more tools than fit on one page: `python -m tests.real.many`."""

from __future__ import annotations

import socket
import sys

import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp_types import ListToolsResult, PaginatedRequestParams, Tool

TOOLS = 2500
PAGE = 40


async def list_tools(
    _ctx: ServerRequestContext[object], params: PaginatedRequestParams | None
) -> ListToolsResult:
    """Return a page; the cursor is the number of the next tool."""
    start = int(params.cursor) if params is not None and params.cursor is not None else 0
    end = min(start + PAGE, TOOLS)
    tools = [
        Tool(name=f"tool_{number:04}", input_schema={"type": "object"})
        for number in range(start, end)
    ]
    return ListToolsResult(tools=tools, next_cursor=str(end) if end < TOOLS else None)


def main() -> None:
    """Serve on a free port of 127.0.0.1 and print the URL."""
    server = Server("many", on_list_tools=list_tools)
    config = uvicorn.Config(
        server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
