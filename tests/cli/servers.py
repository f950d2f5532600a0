"""Servers for the command line: real ones of the official SDK, and what is mistaken for one."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal

import anyio
import mcp_types as types
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

PIXEL = "iVBORw0KGgo="


def workshop() -> MCPServer:
    """A server with a tool for each thing that the command line shows or reads."""
    server = MCPServer("workshop", version="1.2.3", log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    @server.tool()
    def describe(
        text: str,
        count: int = 1,
        ratio: float = 0.5,
        sure: bool = False,  # noqa: FBT001, FBT002
        words: list[str] | None = None,
        colour: Literal["red", "green"] = "red",
    ) -> dict[str, Any]:
        """Say what came, and of which type.

        This line is for `--output json` alone.
        """
        return {
            "text": text,
            "count": count,
            "ratio": ratio,
            "sure": sure,
            "words": words,
            "colour": colour,
        }

    @server.tool()
    def fail() -> str:
        """Fail."""
        raise ToolError("the saw is blunt")

    @server.tool()
    async def sand(context: Context) -> str:
        """Report progress."""
        for done in (1, 2, 3):
            await context.report_progress(done, 3, f"pass {done}")
        return "smooth"

    @server.tool()
    async def ticking(context: Context) -> str:
        """Report progress and never end."""
        await context.report_progress(1, 2)
        await anyio.sleep_forever()
        return ""

    @server.tool(structured_output=False)
    def show() -> list[types.ContentBlock]:
        """Answer with each kind of content."""
        blob = types.BlobResourceContents(uri="file:///b", blob=PIXEL, mime_type="image/png")
        text = types.TextResourceContents(uri="file:///t", text="embedded text")
        return [
            types.TextContent(text="plain\x1b[31m text"),
            types.ImageContent(data=PIXEL, mime_type="image/png"),
            types.AudioContent(data=PIXEL, mime_type="audio/wav"),
            types.ResourceLink(name="plan", uri="file:///plan"),
            types.EmbeddedResource(resource=text),
            types.EmbeddedResource(resource=blob),
        ]

    @server.tool()
    async def wait() -> str:
        """Never end."""
        await anyio.sleep_forever()
        return ""

    _shelve(server)
    return server


def _shelve(server: MCPServer) -> None:
    @server.prompt()
    def review(code: str, tone: str = "kind") -> str:
        """Review some code."""
        return f"{tone}: {code}"

    @server.resource("shelf://index", mime_type="text/plain")
    def index() -> str:
        """List the shelf."""
        return "saw"

    @server.resource("shelf://tool/{name}")
    def tool(name: str) -> str:
        """Look at one tool."""
        return name


def paged(pages: int, *, loops: bool = False) -> Server[Any]:
    """A server whose tools come in pages of two; with `loops` the last page leads to the first."""

    async def list_tools(_context: Any, params: types.PaginatedRequestParams | None) -> Any:
        page = int(params.cursor) if params and params.cursor else 0
        following = str((page + 1) % pages) if loops or page + 1 < pages else None
        tools = [
            types.Tool(name=f"tool_{page}_{at}", input_schema={"type": "object"}) for at in range(2)
        ]
        return types.ListToolsResult(tools=tools, next_cursor=following)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> Any:
        return types.CallToolResult(content=[types.TextContent(text=f"{params.name} was called")])

    return Server("paged", on_list_tools=list_tools, on_call_tool=call_tool)


def sessioned_only() -> Any:
    """An ASGI app that knows initialize and tools/list, and nothing of the stateless era."""
    server = Server("old", version="0.9", on_list_tools=_no_tools)
    inner = server.streamable_http_app(json_response=True)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if headers.get(b"mcp-protocol-version") == b"2026-07-28":
            await _answer(send, 400, "application/json", _error(-32600, "No session."))
        else:
            await inner(scope, receive, send)

    return app


async def strange(scope: Any, receive: Any, send: Any) -> None:
    """Answer as servers do that are no MCP server, or no good one; the path says which."""
    if scope["type"] != "http":
        return
    match scope["path"]:
        case "/page/mcp":
            await _answer(send, 200, "text/html; charset=utf-8", b"<html>Welcome</html>")
        case "/api/mcp":
            await _answer(send, 200, "application/json", b'{"hello": "world"}')
        case "/empty":
            await _answer(send, 200, None, b"")
        case "/hang/mcp":
            while (await receive())["type"] != "http.disconnect":
                pass
        case "/refusing/mcp":
            request = json.loads((await receive())["body"])
            error = _error(-32603, "the moon is wrong", request["id"])
            await _answer(send, 200, "application/json", error)
        case "/invalid/mcp":
            await _invalid(receive, send)
        case "/moved/mcp":
            headers = [(b"location", b"http://elsewhere.test/mcp")]
            await send({"type": "http.response.start", "status": 308, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        case path:
            status = path.removeprefix("/").removesuffix("/mcp")
            await _answer(send, int(status or 404), "text/plain", b"no")


async def _no_tools(_context: Any, _params: Any) -> Any:
    return types.ListToolsResult(tools=[])


async def _invalid(receive: Any, send: Any) -> None:
    request = json.loads((await receive())["body"])
    result = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {"tools": [{"title": "nameless"}]},
    }[request["method"]]
    common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    body = {"jsonrpc": "2.0", "id": request["id"], "result": {**result, **common}}
    await _answer(send, 200, "application/json", json.dumps(body).encode())


def _error(code: int, message: str, request: int | None = None) -> bytes:
    error = {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": message}}
    return json.dumps(error).encode()


async def _answer(send: Any, status: int, kind: str | None, body: bytes) -> None:
    headers = [(b"content-type", kind.encode())] if kind else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def running(app: Any, **options: Any) -> Iterator[int]:
    """Serve an ASGI app on a free port of 127.0.0.1 until the body ends; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, log_level="critical", ws="none", **options)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            # The socket listens already, so whoever connects before the server runs just waits.
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            server.force_exit = True
            thread.join()


@contextmanager
def closing() -> Iterator[int]:
    """Take connections and close them at once; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_close_each, args=(listening,))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _close_each(listening: socket.socket) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        connection.close()


def certificate(folder: Path) -> dict[str, str]:
    """Make a certificate for 127.0.0.1 that signs itself; return uvicorn's options for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2126, 1, 1, tzinfo=UTC))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(Encoding.PEM))
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(plain)
    return {
        "ssl_certfile": str(folder / "cert.pem"),
        "ssl_keyfile": str(folder / "key.pem"),
    }
