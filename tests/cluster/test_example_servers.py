"""The servers of the example for a cluster, without one: their certificate, and whom they let in."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.cluster.desk import EXAMPLE
from tests.support.ports import lasting_port

SECONDS = 30.0


def test_its_notes_answer_by_the_name_of_their_service_alone_who_brings_what_they_want(
    tmp_path: Path,
) -> None:
    made = [sys.executable, EXAMPLE / "certificate.py"]
    secret, bundle = json.loads(subprocess.check_output(made))["items"]
    for name, text in secret["stringData"].items():
        (tmp_path / name).write_text(text)
    (tmp_path / "wanted").write_text("X-Api-Key: one\nX-Api-Key: two\nX-Floor: second\n")
    port = lasting_port()
    words = ["notes", f"127.0.0.1:{port}", tmp_path / "wanted", tmp_path]
    with subprocess.Popen([sys.executable, EXAMPLE / "servers.py", *words]) as process:
        try:
            trusted = ssl.create_default_context(cadata=bundle["data"]["ca.crt"])
            # As Python 3.13 checks by default.
            trusted.verify_flags |= ssl.VERIFY_X509_STRICT
            floor = {"X-Floor": "second"}
            told = [
                status(reached(port, process), trusted, given)
                for given in ({}, {**floor, "X-Api-Key": "three"}, {**floor, "X-Api-Key": "two"})
            ]
        finally:
            process.terminate()

    assert told == [401, 401, 200]


def reached(port: int, process: subprocess.Popen[bytes]) -> socket.socket:
    """Return a connection to a server, as soon as it listens."""
    ends = time.monotonic() + SECONDS
    while True:
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
        assert process.poll() is None
        assert time.monotonic() < ends


def status(raw: socket.socket, trusted: ssl.SSLContext, headers: dict[str, str]) -> int:
    """Return what the notes answer as they are called in the cluster."""
    connection = http.client.HTTPConnection("notes", 4491, timeout=SECONDS)
    connection.sock = trusted.wrap_socket(raw, server_hostname="notes")
    params = {"protocolVersion": "2025-06-18", "capabilities": {}}
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {**params, "clientInfo": {"name": "test", "version": "1"}},
    }
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request("POST", "/mcp", json.dumps(body), {**accepted, **headers})
    found = connection.getresponse().status
    connection.close()
    return found
