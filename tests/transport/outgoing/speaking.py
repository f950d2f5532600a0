"""A way to a backend that does what the test says, for tests of who keeps it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.gateway.builders import OK, backend, document, peer
from tests.support.virtual_time import LoopClock
from vmcp.gateway.health import Health
from vmcp.gateway.ports import Reply
from vmcp.gateway.vitals import Vitals
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.health import Stage
from vmcp.model.inventory import Era, Inventory, Peer
from vmcp.model.keys import ObjectKey
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Ask, Call, Client, Done
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.speech import Hear, NoStream
from vmcp.transport.outgoing.supervised import SupervisedBackend

LOST = BackendFailed("a", "Unreachable", "nobody is there.")


class FakeSpeech:
    """An open connection. `break_off()` ends its stream with an exception, or quietly."""

    def __init__(self, world: FakeBackend) -> None:
        self.world = world
        self.peer: Peer = peer(world.era, {"tools": {}, "resources": {}})
        self.hear: Hear | None = None
        self._end: asyncio.Future[None] | None = None

    async def ask(self, method: str, params: Document) -> Document:  # noqa: ARG002
        self.world.asked.append((self.world.time(), method))
        if self.world.list_failure is not None:
            raise self.world.list_failure
        if self.world.tells_when_listed:
            self.tell("notifications/tools/list_changed")
        member = {"tools/list": "tools", "resources/list": "resources"}.get(method)
        items = [{"name": name, "inputSchema": {"type": "object"}} for name in self.world.tools]
        return document({member or "resourceTemplates": items if member == "tools" else []})

    async def probe(self) -> None:
        self.world.probed.append(self.world.time())
        if self.world.probe_failure is not None:
            raise self.world.probe_failure
        await asyncio.sleep(self.world.probe_seconds)
        self.peer = peer(self.world.era, {"tools": {}, "resources": {}, **self.world.more})

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        self.world.calls += 1
        return await self.world.act(self, call, reply)

    async def listen(self, hear: Hear, ready: Callable[[], None]) -> None:
        self.world.listens.append(self.world.time())
        if not self.world.has_stream:
            raise NoStream
        self.hear = hear
        self._end = asyncio.get_running_loop().create_future()
        ready()
        await self._end

    def break_off(self, error: Exception | None = None) -> None:
        assert self._end is not None
        if error is None:
            self._end.set_result(None)
        else:
            self._end.set_exception(error)

    def tell(self, method: str, **params: Any) -> None:
        assert self.hear is not None
        self.hear(jsonrpc.Notification(method, document(params)))

    async def subscribe(self, uri: str) -> None:
        self.world.subscribed.append(uri)

    async def unsubscribe(self, uri: str) -> None:
        self.world.subscribed.remove(uri)

    async def notify(self, _client: Client, method: str, _params: bytes | None) -> None:
        self.world.told.append(method)

    async def set_level(self, client: Client) -> None:
        self.world.told.append(str(client.log_level))

    def retune(self, backend: Backend) -> None:
        self.world.tuned.append(backend)

    def forget_clients(self) -> None:
        self.world.told.append("forget clients")

    async def release(self, _client: Client) -> None:
        self.world.told.append("release")


async def answer(_speech: FakeSpeech, _call: Call, _reply: Reply) -> Done:
    return OK


class FakeBackend:
    """A backend to connect to, and what its keeper found (the port `Findings`)."""

    def __init__(self) -> None:
        self.era = Era.SESSIONED
        self.tools = ["one"]
        self.has_stream = True
        self.tells_when_listed = False
        self.connect_failure: Exception | None = None
        self.connect_seconds = 0.0
        self.list_failure: Exception | None = None
        self.probe_failure: Exception | None = None
        self.probe_seconds = 0.0
        self.more: dict[str, Any] = {}
        self.act: Any = answer
        self.speeches: list[FakeSpeech] = []
        self.tried: list[float] = []
        self.listens: list[float] = []
        self.probed: list[float] = []
        self.asked: list[tuple[float, str]] = []
        self.subscribed: list[str] = []
        self.told: list[str] = []
        self.tuned: list[Backend] = []
        self.calls = 0
        self.found: list[str] = []
        self.stages: list[Stage] = []
        self.updates: list[tuple[str, Any]] = []
        self.health = Health(LoopClock(), lambda: None)

    def time(self) -> float:
        return round(asyncio.get_running_loop().time(), 3)

    @property
    def speech(self) -> FakeSpeech:
        """The connection that was opened last."""
        return self.speeches[-1]

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[FakeSpeech]:
        self.tried.append(self.time())
        await asyncio.sleep(self.connect_seconds)
        if self.connect_failure is not None:
            raise self.connect_failure
        self.speeches.append(FakeSpeech(self))
        yield self.speech

    def lists(self, method: str = "tools/list") -> list[float]:
        """Return when a list was asked for."""
        return [when for when, asked in self.asked if asked == method]

    def listed(self, inventory: Inventory) -> None:
        self.found.append(",".join(tool.name for tool in inventory.tools))
        self.vitals(inventory.backend).checked()

    def checked(self, backend: ObjectKey) -> None:
        self.vitals(backend).checked()

    def failed(self, backend: ObjectKey, stage: Stage, failure: BackendFailed) -> None:
        self.found.append(failure.reason)
        self.stages.append(stage)
        self.vitals(backend).check_failed(stage, failure)

    def vitals(self, backend: ObjectKey) -> Vitals:
        return self.health.of(backend)

    def resource_updated(self, _backend: ObjectKey, uri: str, params: bytes) -> None:
        self.updates.append((uri, json.loads(params)))


@asynccontextmanager
async def keeping(
    world: FakeBackend, of: Backend | None = None
) -> AsyncIterator[SupervisedBackend]:
    """Keep the backend for the block."""
    keeper = SupervisedBackend(of or backend("a"), world.connect, world, Errands())
    async with running_in_place(keeper):
        yield keeper


@asynccontextmanager
async def running_in_place(keeper: SupervisedBackend) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(keeper.run())
        await asyncio.sleep(0.01)
        yield
        running.cancel()
