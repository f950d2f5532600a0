"""Two MCP servers for a cluster, of which a pod runs one: notes over https, or a clock over http.

    python servers.py notes ADDRESS:PORT WANTED [TLS]

WANTED is a file of `Header: value` lines: a request must bring one of the values of each header. TLS is a folder
with tls.crt and tls.key.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

STOP_SECONDS = 2

Message = MutableMapping[str, Any]
App = Callable[..., Awaitable[None]]

notes = MCPServer("notes", version="1", log_level="WARNING")
clock = MCPServer("clock", version="1", log_level="WARNING")
SERVERS = {"notes": notes, "clock": clock}
WRITTEN = {"welcome": "The coffee machine is on the second floor."}


@notes.tool()
def read_note(name: str) -> str:
    """Read a note."""
    return WRITTEN.get(name, "There is no such note.")


@notes.tool()
def delete_note(name: str) -> str:
    """Delete a note."""
    return WRITTEN.pop(name, "There is no such note.")


@clock.tool()
def now() -> str:
    """Tell the time in UTC."""
    return datetime.now(UTC).isoformat()


def wanted(text: str) -> dict[bytes, set[bytes]]:
    """Return the values of which a request must bring one, by header."""
    found: dict[bytes, set[bytes]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(": ")
        found.setdefault(name.lower().encode(), set()).add(value.encode())
    return found


def guarded(app: App, file: Path) -> App:
    """Return an app that answers 401 to requests without what a file wants; it is read for each of them."""

    async def serve(scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not is_let_in(dict(scope["headers"]), file):
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await app(scope, receive, send)

    return serve


def is_let_in(headers: dict[bytes, bytes], file: Path) -> bool:
    """Tell whether a request brings all that a file wants."""
    return all(headers.get(name) in values for name, values in wanted(file.read_text()).items())


def main(name: str, address: str, file: str, tls: str | None = None) -> None:
    """Serve until the pod ends."""
    host, _, port = address.rpartition(":")
    # Clients come by the name of the Service, which only the cluster knows.
    every_host = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = SERVERS[name].streamable_http_app(transport_security=every_host)
    uvicorn.run(
        guarded(app, Path(file)),
        host=host,
        port=int(port),
        log_level="warning",
        timeout_graceful_shutdown=STOP_SECONDS,
        ssl_certfile=tls and f"{tls}/tls.crt",
        ssl_keyfile=tls and f"{tls}/tls.key",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
