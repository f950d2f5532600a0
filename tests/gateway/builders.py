"""Values and fakes from which the tests of the gateway's parts are built."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from vmcp.gateway.deadline import Deadline
from vmcp.gateway.ports import BackendClient, Reply
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Inventory, Named, Peer, Tool
from vmcp.model.keys import ObjectKey
from vmcp.model.snapshot import Contribution
from vmcp.protocol.call import Answer, Ask, Call, Client, Done, Note
from vmcp.protocol.document import split

Json = dict[str, Any]
OK = Done(b'{"content":[]}')


def key(name: str) -> ObjectKey:
    return ObjectKey("Backend", name)


def backend(name: str, timeout_seconds: float = 30.0) -> Backend:
    return Backend(key(name), name, HttpEndpoint(f"http://{name}.test/mcp"), timeout_seconds)


def contribution(source: str, *names: str, **more: Any) -> Contribution:
    return Contribution(source, tuple(backend(name) for name in names), **more)


def document(value: Json) -> Document:
    return split(json.dumps(value, separators=(",", ":")).encode())


def peer(era: Era = Era.SESSIONED, capabilities: Json | None = None) -> Peer:
    return Peer(era, "2025-11-25", document(capabilities or {"tools": {}}), b"{}")


def inventory(
    name: str, *tools: str, era: Era = Era.SESSIONED, description: str = "", **more: Any
) -> Inventory:
    """Return an inventory with tools and what else is given.

    That is resources, templates and prompts by name, and the capabilities of the backend.
    """
    named = {
        kind: tuple(Named(each, document({member: each, "name": each})) for each in more.pop(kind))
        for kind, member in (
            ("resources", "uri"),
            ("templates", "uriTemplate"),
            ("prompts", "name"),
        )
        if kind in more
    }
    listed = tuple(
        Tool(tool, document({"name": tool, "description": description, "inputSchema": {}}))
        for tool in tools
    )
    return Inventory(key(name), peer(era, more.get("capabilities")), tools=listed, **named)


def session_client(**more: Any) -> Client:
    return Client(Era.SESSIONED, "2025-11-25", lasting=True, **more)


def request_client(**more: Any) -> Client:
    return Client(Era.STATELESS, "2026-07-28", **more)


def call_of(method: str, client: Client | None = None, **params: Any) -> Call:
    return Call(client or session_client(), method, document(params))


class FakeReply:
    """Takes the notes of a call."""

    def __init__(self) -> None:
        self.deadline = Deadline()
        self.notes: list[Note] = []

    async def note(self, note: Note) -> None:
        self.notes.append(note)

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        return tuple(Answer(b"{}") for _ in ask.requests)


Act = Callable[[Call, Reply], Awaitable[Done | Ask]]


async def answer_ok(_call: Call, _reply: Reply) -> Done:
    return OK


class FakeClient:
    """A backend's client that does what the test says, and tells what was asked of it."""

    def __init__(self, backend: Backend, act: Act = answer_ok) -> None:
        self.backend = backend
        self.act = act
        self.calls: list[Call] = []
        self.subscribed: list[str] = []
        self.released: list[Client] = []
        self.told: list[tuple[str, bytes | None]] = []
        self.levels: list[str | None] = []
        self.runs = 0
        self.is_running = False
        self.is_retired = False
        # What is raised by the methods that a gateway calls on behalf of nobody who waits.
        self.failure: Exception | None = None

    @property
    def uris(self) -> frozenset[str]:
        return frozenset(self.subscribed)

    def retune(self, backend: Backend) -> None:
        self.backend = backend

    def succeed(self, before: BackendClient) -> None:
        self.subscribed = sorted(before.uris)

    def retire(self) -> None:
        self.is_retired = True

    async def run(self) -> None:
        self.runs += 1
        self.is_running = True
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.is_running = False

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        self.calls.append(call)
        return await self.act(call, reply)

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure

    async def notify(self, _client: Client, method: str, params: bytes | None) -> None:
        self._fail()
        self.told.append((method, params))

    async def subscribe(self, uri: str) -> None:
        self._fail()
        self.subscribed.append(uri)

    async def unsubscribe(self, uri: str) -> None:
        self._fail()
        self.subscribed.remove(uri)

    async def set_level(self, client: Client) -> None:
        self._fail()
        self.levels.append(client.log_level)

    async def release(self, client: Client) -> None:
        self._fail()
        self.released.append(client)


def params_of(call: Call) -> Mapping[str, Any]:
    """Return the params with which a backend was called."""
    found: Mapping[str, Any] = json.loads(call.params.join())
    return found
