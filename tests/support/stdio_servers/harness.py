"""Speak to the servers of this folder as the gateway does, and see that nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from vmcp.clock import SystemClock
from vmcp.gateway.deadline import Deadline
from vmcp.gateway.health import Health
from vmcp.gateway.vitals import Vitals
from vmcp.model.backend import Backend, StdioEndpoint
from vmcp.model.document import Document
from vmcp.model.health import Stage
from vmcp.model.inventory import Era, Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.secret import Secret
from vmcp.protocol.call import Answer, Ask, Call, Client, Done, Note
from vmcp.protocol.document import split
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.jsonrpc import Notification
from vmcp.protocol.methods import META_PROGRESS
from vmcp.transport.outgoing import compose
from vmcp.transport.outgoing.speech import Speech
from vmcp.transport.outgoing.stdio import StdioConnector

FOLDER = Path(__file__).parent
SERVER = str(FOLDER / "server.py")
KEY = ObjectKey("Backend", "fake")
BASE = {"PATH": os.defpath, "HOME": "/nowhere", "LANG": "C"}
SECONDS = 20.0


def endpoint(
    *options: str, env: Mapping[str, str] | None = None, cwd: str | None = None
) -> StdioEndpoint:
    """Return the way to start the fake server."""
    secrets = tuple((name, Secret(value)) for name, value in (env or {}).items())
    return StdioEndpoint(sys.executable, ("-S", SERVER, *options), secrets, cwd)


def backend(at: StdioEndpoint, timeout_seconds: float = SECONDS) -> Backend:
    """Return a backend that is called fake."""
    return Backend(KEY, "fake", at, timeout_seconds)


def connector(*options: str, timeout_seconds: float = SECONDS) -> StdioConnector:
    """Return a connector to the fake server."""
    at = endpoint(*options)
    return StdioConnector(backend(at, timeout_seconds), at, BASE)


@asynccontextmanager
async def speaking(*options: str, timeout_seconds: float = SECONDS) -> AsyncIterator[Speech]:
    """Run the fake server for the block."""
    async with connector(*options, timeout_seconds=timeout_seconds).connect() as speech:
        yield speech


def sessioned_client(capabilities: bytes = b"{}", log_level: str | None = None) -> Client:
    """Return a client session."""
    return Client(Era.SESSIONED, "2025-11-25", capabilities, lasting=True, log_level=log_level)


def stateless_client(capabilities: bytes = b"{}", log_level: str | None = None) -> Client:
    """Return a client of one request."""
    return Client(Era.STATELESS, "2026-07-28", capabilities, log_level=log_level)


class KeptReply:
    """Keep what comes before the end of a call, and answer what is asked."""

    def __init__(self, answer: Callable[[Ask], Awaitable[Answer]] | None = None) -> None:
        self.deadline = Deadline()
        self.notes: list[Note] = []
        self.asks: list[Ask] = []
        self._answer = answer

    async def note(self, note: Note) -> None:
        """Keep a note."""
        self.notes.append(note)

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        """Answer as the test wants it."""
        self.asks.append(ask)
        return (
            (await self._answer(ask),) if self._answer is not None else (Answer(b'{"roots":[]}'),)
        )


async def call(
    speech: Speech,
    tool: str,
    client: Client | None = None,
    reply: KeptReply | None = None,
    progress_token: bytes | None = None,
    **arguments: object,
) -> Done | Ask:
    """Call a tool within a deadline; the client is one of the backend's own era if none is given."""
    default = sessioned_client if speech.peer.era is Era.SESSIONED else stateless_client
    raw = json.dumps({"name": tool, "arguments": arguments}).encode()
    return await carry(speech, split(raw), client or default(), reply, progress_token)


async def carry(
    speech: Speech,
    params: Document,
    client: Client,
    reply: KeptReply | None = None,
    progress_token: bytes | None = None,
) -> Done | Ask:
    """Carry `tools/call` with params as they are."""
    reply = reply or KeptReply()
    members = () if progress_token is None else ((META_PROGRESS, progress_token),)
    if client.era is Era.STATELESS:
        members += compose.stateless_meta(client.capabilities, client.info, client.log_level)
    meta = Document(members) if members else None
    if meta is not None:
        params = params.with_member(b'"_meta"', meta.join())
    made = Call(client, "tools/call", params, meta, progress_token)
    async with reply.deadline.start(SECONDS):
        return await speech.call(made, reply)


def value(done: Done | Ask) -> object:
    """Return what a tool said."""
    assert isinstance(done, Done), done
    assert not done.is_error, done.payload
    return json.loads(json.loads(done.payload)["content"][0]["text"])


class Heard:
    """Collect what a backend tells unasked, and wait for it."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Notification] = asyncio.Queue()
        self.is_open = asyncio.Event()

    @asynccontextmanager
    async def listening(self, speech: Speech) -> AsyncIterator[Heard]:
        """Listen for the block."""
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(speech.listen(self.messages.put_nowait, self.is_open.set))
            await self.is_open.wait()
            yield self
            listening.cancel()


class KeptFindings:
    """Keep what a supervised backend finds out, and wait for it."""

    def __init__(self) -> None:
        self.inventories: asyncio.Queue[Inventory] = asyncio.Queue()
        self.failures: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self.updates: asyncio.Queue[str] = asyncio.Queue()
        self.health = Health(SystemClock(), lambda: None)

    def listed(self, inventory: Inventory) -> None:
        """Keep an inventory."""
        self.inventories.put_nowait(inventory)

    def checked(self, backend: ObjectKey) -> None:
        """Take note of a check that was answered."""
        self.vitals(backend).checked()

    def vitals(self, backend: ObjectKey) -> Vitals:
        """Return how a backend fares."""
        return self.health.of(backend)

    def failed(self, backend: ObjectKey, stage: Stage, failure: BackendFailed) -> None:
        """Keep a failure."""
        self.vitals(backend).check_failed(stage, failure)
        self.failures.put_nowait((failure.reason, failure.message))

    def resource_updated(self, _: ObjectKey, uri: str, __: bytes) -> None:
        """Keep an update."""
        self.updates.put_nowait(uri)


async def gone(pid: int) -> None:
    """Return once a process has ended."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(watched, ended.set)
    try:
        async with asyncio.timeout(SECONDS):
            await ended.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)


def open_pipes() -> frozenset[str]:
    """Return the pipes of this process; whatever else is open belongs to the event loop."""
    found: set[str] = set()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(f"{link.name} {link.readlink()}")
    return frozenset(one for one in found if " pipe:" in one)


def children() -> frozenset[str]:
    """Return the ids of all child processes, dead ones that nobody has waited for included."""
    found: set[str] = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if after[1] == str(os.getpid()):
            found.add(status.parent.name)
    return frozenset(found)
