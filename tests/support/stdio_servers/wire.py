"""What the servers in this folder share: messages as lines of JSON, and whole answers to requests."""

from __future__ import annotations

import json
import sys
from typing import Any

SESSIONED, STATELESS = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"

Message = dict[str, Any]


def read() -> Message | None:
    """Return the next message, None at the end of the input."""
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else None


def write_raw(line: bytes) -> None:
    """Write bytes as they are."""
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def write(message: Message) -> None:
    """Write one message."""
    write_raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def notify(method: str, **params: Any) -> None:
    """Write a notification."""
    write({"method": method, "params": params})


def answer(request: Message, **result: Any) -> None:
    """Write the result of a request, with what each result of the stateless era has."""
    write({"id": request["id"], "result": {"resultType": "complete", **result}})


def refuse(request: Message, code: int, message: str) -> None:
    """Write the error that a request gets."""
    write({"id": request["id"], "error": {"code": code, "message": message}})


def meta(request: Message) -> Message:
    """Return the `_meta` of a request."""
    return request.get("params", {}).get("_meta", {})
