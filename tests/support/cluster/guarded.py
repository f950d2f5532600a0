"""A real MCP server behind https and API keys, whose certificate and keys are exchanged while it runs."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.net.certificates import authority, identity
from tests.support.ports import lasting_port
from tests.support.servers import LOOK_SECONDS, START_SECONDS, Process, started
from tests.support.volumes import Volume
from vmcp.config.keysfile import line


@dataclass(frozen=True, slots=True)
class Guarded:
    """Where it is, and the files that it follows."""

    url: str
    volume: Volume

    def exchange(self, authority_name: str, key: str) -> None:
        """Have it show a certificate of another authority and want another key: the old ones stop working."""
        self.volume.publish(**_files(authority_name, key))


def _files(authority_name: str, key: str) -> dict[str, str]:
    shown = identity("127.0.0.1", signer=authority(authority_name))
    return {"tls.crt": shown.pem, "tls.key": shown.key_pem, "keys.txt": f"{line('gateway', key)}\n"}


@contextmanager
def guarded(folder: Path, authority_name: str, key: str) -> Iterator[Guarded]:
    """Run mcp-server-time behind such a front for the block."""
    volume = Volume(folder / "guard", **_files(authority_name, key))
    port = lasting_port()
    config = folder / "guard.json"
    config.write_text(json.dumps(_config(port, volume.path)))
    argv = [sys.executable, "-m", "vmcp", "serve", "--config", str(config)]
    with started("the guard of a server", argv) as process:
        _wait_ready(process, port, authority(authority_name).pem)
        yield Guarded(f"https://127.0.0.1:{port}/mcp", volume)


def _config(port: int, files: Path) -> dict[str, Any]:
    program = str(Path(sys.executable).parent / "mcp-server-time")
    child = {"command": program, "args": ["--local-timezone", "UTC"]}
    tls = {"certFile": str(files / "tls.crt"), "keyFile": str(files / "tls.key")}
    return {
        "backends": [{"name": "time", "stdio": child}],
        "aggregation": {"conflictResolutionConfig": {"prefixOnConflict": True}},
        "server": {"port": port, "opsPort": 0, "tls": tls},
        "incomingAuth": {"type": "api_key", "keysFile": str(files / "keys.txt")},
    }


def _wait_ready(process: Process, port: int, ca: str) -> None:
    trusting = ssl.create_default_context(cadata=ca)
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends:
        process.check_alive()
        with suppress(OSError), urlopen(f"https://127.0.0.1:{port}/readyz", context=trusting):
            return
        with suppress(subprocess.TimeoutExpired):
            process.popen.wait(LOOK_SECONDS)
    raise process.failed(f"was not ready after {START_SECONDS} s")
