"""Two MCP servers for the manifests: notes over https with a key, a clock with a token; and their authority."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from mcp.server.mcpserver import MCPServer

OBJECTS = Path(__file__).parent / "objects"
NOTES, CLOCK = 4491, 4492
DAYS = 30

Message = MutableMapping[str, Any]
App = Callable[..., Awaitable[None]]

notes = MCPServer("notes", version="1", log_level="WARNING")
clock = MCPServer("clock", version="1", log_level="WARNING")
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


def guarded(app: App, header: bytes, value: bytes) -> App:
    """Return an app that answers 401 to requests without a header."""

    async def serve(scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and (header, value) not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await app(scope, receive, send)

    return serve


def certificate() -> tuple[bytes, bytes]:
    """Return a certificate for this machine that signs itself, and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "office")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return made.public_bytes(Encoding.PEM), plain


def publish(pem: bytes) -> None:
    """Write the authority's certificate as a ConfigMap beside the other objects."""
    found = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "office-ca"},
        "data": {"ca.crt": pem.decode()},
    }
    # JSON is YAML.
    (OBJECTS / "ca.yaml").write_text(json.dumps(found, indent=2) + "\n")


def server(app: App, port: int, tls: str | None) -> uvicorn.Server:
    """Return what serves an app, over https with the certificate and key of a file."""
    return uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", ssl_certfile=tls))


async def serve(ports: tuple[int, int], file: str) -> None:
    """Serve both until Ctrl-C."""
    of_notes = guarded(notes.streamable_http_app(), b"x-api-key", b"key-of-the-notes")
    of_clock = guarded(clock.streamable_http_app(), b"authorization", b"Bearer token-of-the-clock")
    await asyncio.gather(
        server(of_notes, ports[0], file).serve(), server(of_clock, ports[1], None).serve()
    )


def main() -> None:
    """Make the certificate, and serve at the ports that the objects name or that are given."""
    pem, key = certificate()
    publish(pem)
    given = [int(word) for word in sys.argv[1:]]
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        Path(file.name).write_bytes(key + pem)
        sys.stdout.write("The notes and the clock are served; Ctrl-C stops them.\n")
        sys.stdout.flush()
        asyncio.run(serve((given[0], given[1]) if given else (NOTES, CLOCK), file.name))


if __name__ == "__main__":
    main()
