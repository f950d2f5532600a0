"""A fake backend of the older HTTP+SSE transport (2024-11-05)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

from aiohttp import web

from tests.support.backends import Call, Heard, Messages
from tests.support.sessioned_backend import BackendSession, SessionedFake
from tests.support.shelf import Fault, Invocation, Json


class SseFake(SessionedFake):
    """Opens a stream at each GET and takes messages at the address that it names there.

    `address` is what it names; with `holds_posts` a POST is answered after the request in it has been.
    """

    paths = ("/sse", "/messages")

    def __init__(self, **tools: Callable[[Invocation], Awaitable[Json]]) -> None:
        super().__init__(**tools)
        self.address = "/messages?session={}"
        self.holds_posts = False
        self.outs: dict[str, Messages] = {}

    async def respond(self, request: web.Request, heard: Heard) -> web.StreamResponse:
        """Answer one request; raise Fault."""
        if request.path == "/sse":
            if heard.http != "GET":
                return web.Response(status=405)
            return await self._opened(request)
        if request.path != "/messages":
            return web.Response(status=404)
        identity = request.query.get("session", "")
        if identity not in self.outs:
            return web.Response(status=404, text="Could not find session")
        work = self._take(identity, heard)
        if work is not None and self.holds_posts:
            await asyncio.wait((work,))
        return web.Response(status=202, text="Accepted")

    async def _opened(self, request: web.Request) -> web.StreamResponse:
        identity = f"sse-{next(self._numbers)}"
        out = self.outs[identity] = asyncio.Queue()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        self._streams.add(out)
        try:
            await response.prepare(request)
            address = self.address.format(identity)
            await response.write(f"event: endpoint\r\ndata: {address}\r\n\r\n".encode())
            while (message := await out.get()) is not None:
                line = json.dumps(message).encode()
                await response.write(b"event: message\r\ndata: " + line + b"\r\n\r\n")
        except ConnectionResetError:
            pass
        finally:
            self._streams.discard(out)
            del self.outs[identity]
            self._forget_session(identity)
        return response

    def _forget_session(self, identity: str) -> None:
        session = self.sessions.pop(identity, None)
        for call in session.calls.values() if session is not None else ():
            if call.task is not None:
                call.task.cancel()

    def _take(self, identity: str, heard: Heard) -> asyncio.Task[None] | None:
        out = self.outs[identity]
        if heard.method == "initialize":
            self._welcome(identity, heard, out)
            return None
        session = self.sessions[identity]
        if "id" not in heard.message:
            self._notified(session, heard)
        elif not heard.method:
            session.asks.pop(heard.message["id"]).set_result(heard.message)
        elif heard.method == "tools/call":
            return self._begun(session, heard, out)
        else:
            out.put_nowait(
                {"jsonrpc": "2.0", "id": heard.message["id"], **self._end(session, heard)}
            )
        return None

    def _welcome(self, identity: str, heard: Heard, out: Messages) -> None:
        welcome = self._initialize(heard)
        session = self.sessions.pop(welcome.headers["Mcp-Session-Id"])
        session.stream = out
        self.sessions[identity] = session
        out.put_nowait(json.loads(welcome.text or ""))

    def _end(self, session: BackendSession, heard: Heard) -> Json:
        try:
            return {"result": self._answered(session, heard)}
        except Fault as fault:
            return {"error": fault.error}

    def _begun(self, session: BackendSession, heard: Heard, out: Messages) -> asyncio.Task[None]:
        async def run(messages: Messages) -> Json:
            async def ask(method: str, params: Json) -> Json:
                return await self._asked(session, messages, method, params)

            identity, capabilities = heard.message["id"], session.capabilities
            tool = self.shelf.tool(heard.params["name"])
            emit = messages.put_nowait
            return await tool(Invocation(identity, heard.params, capabilities, emit, ask))

        call = self.begin(heard, run)
        session.calls[call.id] = call
        task = asyncio.get_running_loop().create_task(_passed_on(call, out))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _passed_on(call: Call, out: Messages) -> None:
    with suppress(asyncio.CancelledError):
        while (message := await call.messages.get()) is not None:
            out.put_nowait(message)
