"""Fake backends: real HTTP servers in the event loop of the test, which keep the rules of their era.

Here is what both eras share; a fake tells the test of all that it heard.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web

from tests.support.shelf import Fault, Invocation, Json, Shelf
from tests.support.waiting import Journal

Messages = asyncio.Queue[Json | None]


@dataclass(frozen=True, slots=True)
class Heard:
    """One HTTP request as a fake heard it: the method, the headers (lower case) and the message."""

    http: str
    headers: Mapping[str, str]
    message: Json

    @property
    def method(self) -> str:
        """The JSON-RPC method; the HTTP method without a message; empty for a response."""
        return str(self.message.get("method", "")) if self.message else self.http

    @property
    def params(self) -> Json:
        """The params of the message."""
        params: Json = self.message.get("params", {})
        return params

    @property
    def session(self) -> str | None:
        """The session that it came in."""
        return self.headers.get("mcp-session-id")


class Fake:
    """A backend of either era; subclasses know the rules of theirs."""

    paths: tuple[str, ...] = ("/mcp",)

    def __init__(self, **tools: Callable[[Invocation], Awaitable[Json]]) -> None:
        self.shelf = Shelf()
        self.shelf.tools.update(tools)
        self.heard: Journal[Heard] = Journal()
        # The names of tools whose calls were cancelled while they ran, and of those that ran to their end.
        self.cancelled: Journal[str] = Journal()
        self.finished: Journal[str] = Journal()
        self.capabilities: Json = {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "logging": {},
            "completions": {},
        }
        self.info = {"name": "fake", "version": "1"}
        self.instructions: str | None = None
        self.port = 0
        # What it speaks TLS with, and the headers without which it answers 401.
        self.tls: ssl.SSLContext | None = None
        self.wanted: Mapping[str, str] = {}
        # Methods that are refused, and how.
        self.refuses: dict[str, Fault] = {}
        self._held: dict[str, asyncio.Event] = {}
        self._runner: web.AppRunner | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams: set[Messages] = set()

    @property
    def url(self) -> str:
        """Where it is reached."""
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}{self.paths[0]}"

    def told(self) -> Json:
        """Return the member that tells how it is used, where it tells that."""
        return {} if self.instructions is None else {"instructions": self.instructions}

    def asked(self, method: str) -> list[Heard]:
        """Return the requests of a method so far."""
        return self.heard.having(lambda heard: heard.method == method)

    async def first(self, method: str, number: int = 1) -> Heard:
        """Wait for a request of a method."""
        return await self.heard.nth(number, lambda heard: heard.method == method)

    def hold(self, method: str) -> asyncio.Event:
        """Let requests of a method wait until the event is set."""
        return self._held.setdefault(method, asyncio.Event())

    async def start(self, port: int = 0) -> Self:
        """Begin to serve, on a free port of the loopback unless one is given."""
        app = web.Application()
        for path in self.paths:
            app.router.add_route("*", path, self._serve)
        runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=self.tls).start()
        self._runner, self.port = runner, runner.addresses[0][1]
        return self

    async def stop(self) -> None:
        """Cut all connections and serve no more."""
        runner, self._runner = self._runner, None
        if runner is None:
            return
        self.end_streams()
        for task in tuple(self._tasks):
            task.cancel()
        await runner.cleanup()

    def end_streams(self) -> None:
        """End all event streams, as a balancer does that dislikes silent ones."""
        for stream in tuple(self._streams):
            stream.put_nowait(None)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        message = json.loads(body) if body else {}
        headers = {name.lower(): value for name, value in request.headers.items()}
        heard = Heard(request.method, headers, message)
        if any(headers.get(name) != value for name, value in self.wanted.items()):
            return web.Response(status=401)
        self.heard.add(heard)
        if (gate := self._held.get(heard.method)) is not None:
            await gate.wait()
        try:
            if heard.method in self.refuses:
                raise self.refuses[heard.method]
            return await self.respond(request, heard)
        except Fault as fault:
            return answer(message.get("id"), fault.status, error=fault.error)

    async def respond(self, request: web.Request, heard: Heard) -> web.StreamResponse:
        """Answer one request; raise Fault."""
        raise NotImplementedError

    def tell(self, method: str, **params: object) -> None:
        """Tell of a change to all who may hear of it."""
        raise NotImplementedError

    def begin(self, heard: Heard, run: Callable[[Messages], Awaitable[Json]]) -> Call:
        """Begin a call in a task of its own; what it says and its response come in a queue."""
        call = Call(heard.message["id"], asyncio.Queue())
        name = str(heard.params.get("name"))
        call.task = asyncio.get_running_loop().create_task(self._run(call, name, run))
        self._tasks.add(call.task)
        call.task.add_done_callback(self._tasks.discard)
        return call

    async def _run(self, call: Call, name: str, run: Callable[[Messages], Awaitable[Json]]) -> None:
        try:
            end = {"result": await run(call.messages)}
            self.finished.add(name)
        except Fault as fault:
            end = {"error": fault.error}
        except asyncio.CancelledError:
            if self._runner is not None:
                self.cancelled.add(name)
            call.messages.put_nowait(None)
            raise
        call.messages.put_nowait({"jsonrpc": "2.0", "id": call.id, **end})
        call.messages.put_nowait(None)

    async def respond_with(self, request: web.Request, call: Call) -> web.StreamResponse:
        """Send a call's response alone, or a stream where it says something before it."""
        first = await call.messages.get()
        if first is None or "method" in first:
            return await self.stream(request, call.messages, *([first] if first else []))
        return web.json_response(first)

    async def stream(
        self, request: web.Request, messages: Messages, *first: Json
    ) -> web.StreamResponse:
        """Send an event stream until None comes."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        self._streams.add(messages)
        try:
            await response.prepare(request)
            await response.write(b": here\n\n")
            for message in first:
                await response.write(_event(message))
            while (following := await messages.get()) is not None:
                await response.write(_event(following))
            await response.write_eof()
        except ConnectionResetError:
            pass
        finally:
            self._streams.discard(messages)
        return response


@dataclass(slots=True, eq=False)
class Call:
    """A call that runs: what it says, with its response and None at the end."""

    id: Any
    messages: Messages
    task: asyncio.Task[None] | None = None


def answer(identity: Any, status: int = 200, **member: object) -> web.Response:
    """Return a response with its result or error as the whole body."""
    body = {"jsonrpc": "2.0", **({} if identity is None else {"id": identity}), **member}
    return web.json_response(body, status=status)


def _event(message: Json) -> bytes:
    return b"data: " + json.dumps(message).encode() + b"\n\n"


@asynccontextmanager
async def serving(*fakes: Fake) -> AsyncIterator[None]:
    """Serve fakes for the block."""
    try:
        for fake in fakes:
            await fake.start()
        yield
    finally:
        for fake in fakes:
            await fake.stop()


@asynccontextmanager
async def replacing(old: Fake, new: Fake) -> AsyncIterator[None]:
    """Stop a fake and let another one take its place, on the same port, for the block."""
    await old.stop()
    await new.start(old.port)
    try:
        yield
    finally:
        await new.stop()
