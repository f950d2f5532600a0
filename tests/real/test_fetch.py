"""PyPI's fetch server behind the gateway: a page of this machine, for clients of both eras."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from mcp import Client
from mcp_types import TextContent

from tests.real.conftest import script
from tests.support.servers import in_thread, run_gateway

PAGE = b"<html><head><title>A page</title></head><body><p>Words of a page.</p></body></html>"
CONFIG = """
backends:
  - name: web
    stdio: {{command: '{command}', args: [--ignore-robots-txt, --allow-private-ips]}}
"""


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def page() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_page_is_fetched(page: str, mode: str) -> None:
    config = CONFIG.format(command=script("mcp-server-fetch"))
    async with in_thread(run_gateway(config)) as gateway, Client(gateway.url, mode=mode) as client:
        result = await client.call_tool("web_fetch", {"url": page})

    (content,) = result.content
    assert isinstance(content, TextContent)
    assert "Words of a page." in content.text
