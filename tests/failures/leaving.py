"""How clients vanish: what each had sent and read when it went, and what comes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.support.clients import SessionedClient, StatelessClient
from tests.support.waiting import SECONDS

SESSIONED, STATELESS = "sessioned", "stateless"
BOTH = (SESSIONED, STATELESS)
# The size of each answer that is never read.
LARGE = 8 * 2**20
# So many of them are asked for on one connection each.
UNREAD = 8

Caller = SessionedClient | StatelessClient


class Wire:
    """One connection, on which bytes are sent and read as they are."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caller: Caller
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._caller = caller

    @classmethod
    async def to(cls, caller: Caller) -> Wire:
        """Connect to where a client goes."""
        parts = urlsplit(caller.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**16)
        return cls(reader, writer, caller)

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._writer.write(data)

    async def read_until(self, mark: bytes) -> None:
        """Read until these bytes have come."""
        async with asyncio.timeout(SECONDS):
            await self._reader.readuntil(mark)

    def call(self, tool: str, **arguments: Any) -> bytes:
        """Return the call of a tool, with a progress token, as a whole HTTP request."""
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": "t"}}
        return self._post("tools/call", params, tool)

    def listen(self) -> bytes:
        """Return the request for a stream of changes."""
        if isinstance(self._caller, SessionedClient):
            return self._head("GET", {**self._told(), "Accept": "text/event-stream"}) + b"\r\n"
        wanted = {"notifications": {"toolsListChanged": True}}
        return self._post("subscriptions/listen", wanted, None)

    def _post(self, method: str, params: dict[str, Any], name: str | None) -> bytes:
        headers = {**self._told(), "Accept": "application/json, text/event-stream"}
        if isinstance(self._caller, StatelessClient):
            params = {**params, "_meta": self._caller.meta(params.get("_meta", {}))}
            headers |= {"Mcp-Method": method, **({} if name is None else {"Mcp-Name": name})}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        body = json.dumps(message).encode()
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        return self._head("POST", headers) + b"\r\n" + body

    def _told(self) -> dict[str, str]:
        version = {"MCP-Protocol-Version": self._caller.version}
        if isinstance(self._caller, SessionedClient):
            return {**version, "Mcp-Session-Id": self._caller.session}
        return version

    def _head(self, method: str, headers: dict[str, str]) -> bytes:
        lines = [f"{method} /mcp HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, ""]).encode()

    def close(self) -> None:
        """Say that nothing more comes, and read nothing more."""
        self._writer.close()

    def vanish(self) -> None:
        """Be gone in the middle of whatever was under way."""
        self._writer.transport.abort()


Going = Callable[[Wire], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Leaving:
    """One line: in which phase a client goes, how, and what becomes of its call at the backend."""

    name: str
    what: str
    go: Going
    becomes: str
    eras: tuple[str, ...] = BOTH
    is_cancelled: bool = False
    # What it was asked may be answered by a later request, where it has no session that has ended.
    is_parked: bool = False


async def in_the_head(wire: Wire) -> None:
    wire.write(wire.call("echo")[:40])
    wire.vanish()


async def in_the_body(wire: Wire) -> None:
    wire.write(wire.call("echo")[:-20])
    wire.vanish()


async def after_the_request(wire: Wire) -> None:
    wire.write(wire.call("echo"))
    wire.vanish()


async def while_waiting(wire: Wire) -> None:
    wire.write(wire.call("waits"))


async def mid_stream(wire: Wire) -> None:
    wire.write(wire.call("tells"))
    await wire.read_until(b"notifications/progress")


async def while_asked(wire: Wire) -> None:
    wire.write(wire.call("asks"))
    await wire.read_until(b"elicitation/create")


async def listening(wire: Wire) -> None:
    wire.write(wire.listen())
    await wire.read_until(b"\n\n")


async def unread(wire: Wire) -> None:
    wire.write(wire.call("large"))
    await wire.read_until(b"\r\n\r\n")


GOES_ON = "ends at its own end or time limit; its result is kept for 5 min"
CANCELLED = "is cancelled"
NEVER_WAS = "there is none"

LEAVINGS = (
    Leaving("in the head", "in the middle of a request's head", in_the_head, NEVER_WAS),
    Leaving("in the body", "in the middle of a request's body", in_the_body, NEVER_WAS),
    Leaving(
        "after the request", "before anything of the answer has come", after_the_request, "ends"
    ),
    Leaving(
        "waiting, in a session", "while its call is under way", while_waiting, GOES_ON, (SESSIONED,)
    ),
    Leaving(
        "waiting",
        "while its call is under way",
        while_waiting,
        CANCELLED,
        (STATELESS,),
        is_cancelled=True,
    ),
    Leaving(
        "mid-stream, in a session",
        "after the stream of its call has begun",
        mid_stream,
        GOES_ON,
        (SESSIONED,),
    ),
    Leaving(
        "mid-stream",
        "after the stream of its call has begun",
        mid_stream,
        CANCELLED,
        (STATELESS,),
        is_cancelled=True,
    ),
    Leaving(
        "asked", "while it is asked something (elicitation)", while_asked, GOES_ON, (SESSIONED,)
    ),
    Leaving(
        "asked",
        "after it was asked something (elicitation)",
        while_asked,
        "waits 10 min for the answers",
        (STATELESS,),
        is_parked=True,
    ),
    Leaving("listening", "while it listens for changes", listening, NEVER_WAS),
    Leaving("answer unread", "after the first bytes of a large answer", unread, "has ended"),
)
