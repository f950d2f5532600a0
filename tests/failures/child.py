"""A child process in trouble: `python -S child.py ERA MODE_FILE` behaves as the file says at that moment.

Its process id lies beside the file. It needs the standard library alone, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]

ERA, FILE = sys.argv[1], Path(sys.argv[2])
META = "io.modelcontextprotocol/"
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
CAPABILITIES = {"tools": {}}
ABOUT = {"name": "child", "version": "1"}
OVERLONG = 17 * 2**20


def mode() -> str:
    """Return how to behave now."""
    return FILE.read_text()


def say(raw: bytes) -> None:
    """Write bytes as they are."""
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def answer(request: Message, result: Message) -> None:
    """Answer a request in the way of the era."""
    more = CACHED if ERA == "stateless" else {}
    whole = {"jsonrpc": "2.0", "id": request["id"], "result": {**result, **more}}
    say(json.dumps(whole).encode() + b"\n")


def refuse(request: Message) -> None:
    """Say that there is no such method."""
    error = {"code": -32601, "message": "Method not found"}
    say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode() + b"\n")


def hang() -> None:
    """Read and write nothing more."""
    signal.pause()


def told(request: Message, padding: int = 0) -> bytes:
    """Return the answer to a call as bytes."""
    words = json.dumps(request["params"].get("arguments", {})) + "x" * padding
    content = {"content": [{"type": "text", "text": words}], "resultType": "complete"}
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": content}).encode()


def exits(_: Message) -> None:
    """End before the answer."""
    os._exit(3)


def closes(_: Message) -> None:
    """Close the output and live on."""
    os.close(1)
    hang()


def deaf(_: Message) -> None:
    """Stop reading."""
    hang()


def floods(request: Message) -> None:
    """Write 32 MiB of complaints, then answer."""
    line = b"no good at all " * 64 + b"\n"
    for _ in range(32 * 2**20 // len(line)):
        sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()
    say(told(request) + b"\n")


def noisy(request: Message) -> None:
    """Write what is no message before the answer and after it."""
    say("\x1b[32m✓ ready\x1b[0m\n\n{}\n[1,2\nnull\n".encode() * 50)
    say(told(request) + b"\n" + b'{"level":"info"}\n')


def overlong(request: Message) -> None:
    """Answer with a line past the limit."""
    say(told(request, OVERLONG) + b"\n")


def endless(_: Message) -> None:
    """Write one line for ever, until it is read no more."""
    while True:
        say(b"x" * 2**16)


def garbage(request: Message) -> None:
    """Answer with something that has the id and is no response."""
    say(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[}}\n' % request["id"])


def stranger(request: Message) -> None:
    """Answer a request that nobody made, and never this one."""
    say(told({**request, "id": 10**9}) + b"\n")


def slow(request: Message) -> None:
    """Tell that it has begun, and never answer."""
    params = {"progressToken": request["params"]["_meta"]["progressToken"], "progress": 1}
    begun = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    say(json.dumps(begun).encode() + b"\n")


def twice(request: Message) -> None:
    """Answer twice, rightly and with other words."""
    other = {**request, "params": {"arguments": {"text": "the second"}}}
    say(told(request) + b"\n" + told(other) + b"\n")


CALLS: dict[str, Callable[[Message], None]] = {
    each.__name__: each
    for each in (
        *(exits, closes, deaf, floods, noisy),
        *(overlong, endless, garbage, stranger, slow, twice),
    )
}


def greet(request: Message) -> None:
    """Answer the first request of the era."""
    if request["method"] == "initialize" and ERA == "sessioned":
        version = request["params"]["protocolVersion"]
        about = {"capabilities": CAPABILITIES, "serverInfo": ABOUT}
        answer(request, {"protocolVersion": version, **about})
    elif request["method"] == "server/discover" and ERA == "stateless":
        about = {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES}
        answer(request, {**about, "_meta": {META + "serverInfo": ABOUT}})
    else:
        refuse(request)


def requested(request: Message) -> None:
    """Answer a request as it should be, or as the file says."""
    how, method = mode(), request["method"]
    if how == method or (how == "greeting" and method in ("initialize", "server/discover")):
        hang()
    if method == "tools/call":
        CALLS.get(how, lambda asked: say(told(asked) + b"\n"))(request)
    elif method == "tools/list":
        cursor = {"nextCursor": "again"} if how == "cursor" else {}
        answer(request, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}], **cursor})
    elif method == "ping":
        answer(request, {})
    else:
        greet(request)


def main() -> None:
    """Serve until the input ends."""
    FILE.with_name("pid").write_text(str(os.getpid()))
    if mode() == "gone":
        sys.exit(1)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message and "method" in message:
            requested(message)


if __name__ == "__main__":
    main()
