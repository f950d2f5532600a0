"""Clients and backends around the real parts of a gateway, without sockets: whoever acts, acts in one step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.gateway.builders import FakeClient, inventory, key
from tests.gateway.builders import backend as backend_of
from tests.support.gateways import AT_LOOPBACK
from tests.support.virtual_time import LoopClock
from vmcp.catalog.build import build
from vmcp.config.loading import Loading
from vmcp.gateway.core import Gateway
from vmcp.gateway.dispatch import Dispatch
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.parked import ParkedCalls
from vmcp.gateway.pool import Pool
from vmcp.gateway.ports import Reply
from vmcp.gateway.readiness import Readiness
from vmcp.gateway.registry import Registry
from vmcp.gateway.seal import Seal
from vmcp.gateway.sessions import Sessions
from vmcp.gateway.tasks import Tasks
from vmcp.gateway.views import Views
from vmcp.gateway.watchers import Watchers
from vmcp.latest import Latest
from vmcp.model.backend import Backend
from vmcp.model.inventory import Era
from vmcp.model.snapshot import Contribution
from vmcp.protocol.call import Ask, Call, Done, Live, Note, Request, Retry
from vmcp.protocol.document import split
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.sse import Parser
from vmcp.transport.incoming.asgi import Message
from vmcp.transport.incoming.endpoint import Endpoint
from vmcp.transport.incoming.keeper import Keeper

Json = dict[str, Any]

ERAS = {"kept": Era.SESSIONED, "bare": Era.STATELESS}
ELICIT = "elicitation/create"
_PROGRESS = Note("notifications/progress", b'{"progressToken":1,"progress":1}')
_SSE_LIMIT = 2**20


async def settled() -> None:
    """Let everything happen that happens without waiting for a time."""
    await asyncio.sleep(0.001)


class Held:
    """A call at a backend, which does one after the other what the test tells it."""

    def __init__(self, call: Call, reply: Reply, era: Era, tasks: asyncio.TaskGroup) -> None:
        arguments = split(call.params.get(b'"arguments"') or b"{}")
        self.number = int(arguments.get(b'"n"') or b"0")
        self.client = call.client
        self.asking: asyncio.Task[None] | None = None
        self.is_told_to_end = False
        self.times_asked = 0
        self._era = era
        self._tasks = tasks
        self._reply = reply
        self._told: asyncio.Queue[Note | Ask | Done | BackendFailed] = asyncio.Queue()

    @property
    def is_asking(self) -> bool:
        """Whether it waits for an answer."""
        return self.asking is not None and not self.asking.done()

    def tell(self, event: Note | Ask | Done | BackendFailed) -> None:
        """Have it say something, or end."""
        match event:
            case Done() | BackendFailed() | Ask(resume=Retry()):
                self.is_told_to_end = True
        self._told.put_nowait(event)

    def note(self) -> None:
        """Have it say how far it is."""
        self.tell(_PROGRESS)

    def ask(self) -> None:
        """Have it ask its client, in the way of the backend's era."""
        self.times_asked += 1
        message = json.dumps({"message": str(self.number), "requestedSchema": {}}).encode()
        wanted = (Request("it", ELICIT, message),)
        if self._era is Era.SESSIONED:
            self.tell(Ask(wanted, Live()))
            return
        params = b'{"it":{"method":"%b","params":%b}}' % (ELICIT.encode(), message)
        result = split(b'{"resultType":"input_required","inputRequests":%b}' % params)
        self.tell(Ask(wanted, Retry(None), result))

    async def run(self) -> Done | Ask:
        """Do what is told until the end."""
        try:
            while True:
                match event := await self._told.get():
                    case Note():
                        await self._reply.note(event)
                    case Ask(resume=Live()):
                        if not self.is_asking:
                            self.asking = self._tasks.create_task(self._ask(event))
                    case BackendFailed():
                        raise event
                    case _:
                        return event
        finally:
            await self._ask_no_more()

    async def _ask(self, ask: Ask) -> None:
        self._reply.deadline.pause()
        try:
            await self._reply.ask(ask)
        finally:
            self._reply.deadline.resume()

    async def _ask_no_more(self) -> None:
        if self.asking is not None:
            self.asking.cancel()
            await asyncio.wait([self.asking])


class ToldBackend(FakeClient):
    """A backend whose calls are held until they are told to go on; it can be down."""

    def __init__(self, backend: Backend, tasks: asyncio.TaskGroup) -> None:
        super().__init__(backend)
        self._tasks = tasks
        self.era = ERAS[backend.name]
        self.held: list[Held] = []
        self.is_down = False

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        if self.is_down:
            raise self.failure_of()
        held = Held(call, reply, self.era, self._tasks)
        self.held.append(held)
        try:
            return await held.run()
        finally:
            self.held.remove(held)

    def failure_of(self) -> BackendFailed:
        return BackendFailed(self.backend.name, "Unreachable", "it is down.")

    async def subscribe(self, uri: str) -> None:
        if self.is_down:
            raise self.failure_of()
        await super().subscribe(uri)


class Exchange:
    """One HTTP request and what its client has seen of the answer; nothing any more once it has left."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self.last_id: str | None = None
        self.session = ""
        self.has_left = False
        self.is_complete = False
        self._body: bytes | None = None
        self._over = asyncio.Event()
        self._parser: Parser | None = None
        self._begun = False

    async def run(
        self, endpoint: Endpoint, method: str, headers: Mapping[str, str], message: Json | None
    ) -> None:
        """Send the request, until its answer is whole."""
        self._body = b"" if message is None else json.dumps(message).encode()
        usual = {"host": "127.0.0.1", "content-type": "application/json"}
        raw = {"accept": "application/json, text/event-stream", **usual, **headers}
        pairs = [(name.encode(), value.encode()) for name, value in raw.items()]
        scope = {"type": "http", "method": method, "headers": pairs}
        await endpoint(scope, self._receive, self._send)

    def leave(self) -> None:
        """Drop the connection."""
        self.has_left = True
        self._over.set()

    async def _receive(self) -> Message:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body}
        await self._over.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if self.has_left:
            return
        if message["type"] == "http.response.start":
            assert not self._begun, "the response begins twice"
            self._begun = True
            headers = dict(message["headers"])
            self.session = headers.get(b"mcp-session-id", b"").decode()
            if headers.get(b"content-type") == b"text/event-stream":
                self._parser = Parser(_SSE_LIMIT)
            return
        assert self._begun, "the body comes before the head"
        assert not self.is_complete, "more comes after the end"
        self._take(message.get("body", b""))
        if not message.get("more_body"):
            self.is_complete = True
            self._over.set()

    def _take(self, body: bytes) -> None:
        if self._parser is None:
            self.messages += [json.loads(body)] if body else []
            return
        for event in self._parser.feed(body):
            if event.id is not None:
                self.last_id = event.id.decode()
            if event.data:
                self.messages.append(json.loads(event.data))


class World:
    """The parts of a gateway with two backends: `kept` has sessions, `bare` has none."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        clock = LoopClock()
        self._tasks = tasks
        self.inventories = Inventories(clock)
        registry = Registry()
        pool = Pool(lambda backend: ToldBackend(backend, tasks), self.inventories)
        views = Views(registry.snapshot, self.inventories.known)
        watchers, parked, seal = Watchers(views), ParkedCalls(), Seal(clock)
        self.inventories.on_update(watchers.updated)
        registry.take(Contribution("test", tuple(backend_of(name, 60.0) for name in ERAS)))
        self.gateway = Gateway(
            pseudonym="vmcp-test",
            loading=Latest(Loading("vmcp", (), clock.now())),
            registry=registry,
            inventories=self.inventories,
            pool=pool,
            views=views,
            watchers=watchers,
            sessions=Sessions(clock, pool, watchers),
            parked=parked,
            dispatch=Dispatch(views, pool, seal, parked, Tasks(clock)),
            readiness=Readiness(registry.snapshot, self.inventories.health.table),
            sources=(),
        )
        self.keeper = Keeper(clock)
        self.endpoint = Endpoint(self.gateway, Latest(AT_LOOPBACK), self.keeper)
        self.grow(0)

    def send(
        self, method: str, headers: Mapping[str, str], message: Json | None = None
    ) -> Exchange:
        """Begin an exchange; what goes wrong in it ends the world."""
        exchange = Exchange()
        self._tasks.create_task(exchange.run(self.endpoint, method, headers, message))
        return exchange

    def grow(self, number: int) -> None:
        """Let the lists of the backends be others."""
        more = {"resources": {"subscribe": True}, "tools": {}}
        for name, era in ERAS.items():
            tools = ["hold", *(f"t{each}" for each in range(number))]
            uri = (f"{name}://1",)
            self.inventories.listed(
                inventory(name, *tools, era=era, resources=uri, capabilities=more)
            )
        views, snapshot = self.gateway.views, self.gateway.registry.snapshot.value
        views.catalog.renew(build(snapshot, self.inventories.known.value))

    def backend(self, name: str) -> ToldBackend:
        """Return a backend."""
        client = self.gateway.pool.members[key(name)].client
        assert isinstance(client, ToldBackend)
        return client

    def held(self) -> list[Held]:
        """Return the calls that are at a backend."""
        return [held for name in ERAS for held in self.backend(name).held]

    def going_on(self) -> list[Held]:
        """Return those that nobody has told to end."""
        return [held for held in self.held() if not held.is_told_to_end]

    def left(self) -> list[str]:
        """Return what is kept although everybody has gone."""
        gateway, watchers = self.gateway, self.gateway.watchers
        kept = {
            "sessions": len(gateway.sessions),
            "bytes of streams": gateway.sessions._archive.held,
            "streams": len(gateway.sessions._archive._parted),
            "calls": sum(member.calls for member in gateway.pool.members.values()),
            "calls at backends": len(self.held()),
            "parked": len(gateway.parked),
            "parked calls": len(gateway.parked._tasks._tasks if gateway.parked._tasks else ()),
            "watchers": len(watchers._all),
            "subscribed": len(watchers._resources) + len(watchers._served) + len(watchers._turns),
            "subscribed at backends": sum(len(self.backend(name).subscribed) for name in ERAS),
            "listening": len(self.endpoint._stateless.subscriptions),
            "answers": len(self.keeper),
        }
        return [f"{count} {what}" for what, count in kept.items() if count]


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """Give a world that runs for the block."""
    async with asyncio.TaskGroup() as tasks:
        made = World(tasks)
        gateway = made.gateway
        works = [
            tasks.create_task(work)
            for work in (
                gateway.pool.run(gateway.registry.snapshot),
                gateway.watchers.run(gateway.pool.client_of),
                gateway.sessions.run(),
                gateway.parked.run(),
                made.keeper.run(),
            )
        ]
        await settled()
        yield made
        for work in works:
            work.cancel()
