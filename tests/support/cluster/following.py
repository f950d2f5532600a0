"""A gateway as a process that follows a namespace with no more rights than those of the chart."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.support.servers import Gateway, free_port, started, wait_until_ready


@contextmanager
def following(namespace: str, name: str, login: Path, *words: str) -> Iterator[Gateway]:
    """Run `vmcp serve --kubernetes` for a VirtualMCPServer under a kubeconfig; as in a pod it writes a status."""
    port, ops_port = free_port(), free_port()
    ports = ("--port", str(port), "--ops-port", str(ops_port))
    argv = [sys.executable, "-m", "vmcp", "serve", "--kubernetes", "--status", *ports]
    env = {"KUBECONFIG": str(login), "VMCP_NAME": name, "VMCP_NAMESPACE": namespace}
    command = [*argv, "--allow-loopback-backends", *words]
    with started("vmcp serve --kubernetes", command, env=env) as process:
        wait_until_ready(process, port)
        yield Gateway(f"http://127.0.0.1:{port}/mcp", f"http://127.0.0.1:{ops_port}", process)


def status(gateway: Gateway) -> dict[str, Any]:
    """Return what /status tells."""
    with urlopen(f"{gateway.ops_url}/status") as answer:
        found: dict[str, Any] = json.load(answer)
        return found
