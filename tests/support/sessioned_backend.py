"""A fake backend of the sessioned era (2024-11-05 to 2025-11-25)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.backends import Call, Fake, Heard, Messages, answer
from tests.support.shelf import Fault, Invocation, Json
from vmcp.protocol.methods import SESSIONED_VERSIONS

UNKNOWN_SESSION = Fault(-32600, "Session not found", status=404)


@dataclass(slots=True, eq=False)
class BackendSession:
    """A session as the backend sees it."""

    id: str | None
    capabilities: Json
    info: Json
    version: str
    level: str | None = None
    uris: set[str] = field(default_factory=set)
    stream: Messages | None = None
    calls: dict[Any, Call] = field(default_factory=dict)
    asks: dict[str, asyncio.Future[Json]] = field(default_factory=dict)


class SessionedFake(Fake):
    """Knows sessions and streams, and nothing of the stateless era.

    `lost` is how it says that a session is unknown; with `forgets_calls` it says so to every call. Without
    `gives_ids` all share one session.
    """

    def __init__(self, **tools: Callable[[Invocation], Awaitable[Json]]) -> None:
        super().__init__(**tools)
        self.sessions: dict[str | None, BackendSession] = {}
        self.lost = UNKNOWN_SESSION
        self.forgets_calls = False
        self.gives_ids = True
        self.has_stream = True
        self._numbers = itertools.count(1)

    def forget(self) -> None:
        """Forget all sessions, as a server does that was started anew."""
        for session in self.sessions.values():
            if session.stream is not None:
                session.stream.put_nowait(None)
        self.sessions.clear()

    def of(self, client: str) -> list[BackendSession]:
        """Return the open sessions of clients of that name."""
        return [each for each in self.sessions.values() if each.info.get("name") == client]

    def tell(self, method: str, **params: object) -> None:
        """Tell the streams of all sessions, of an updated resource those that subscribed to it."""
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
        for session in self.sessions.values():
            is_wanted = not method.endswith("resources/updated") or params["uri"] in session.uris
            if session.stream is not None and is_wanted:
                session.stream.put_nowait(message)

    async def respond(self, request: web.Request, heard: Heard) -> web.StreamResponse:
        """Answer one request; raise Fault."""
        if heard.method == "initialize":
            return self._initialize(heard)
        session = self._session(heard)
        if heard.http == "GET":
            return await self._get(request, session)
        if heard.http == "DELETE":
            del self.sessions[session.id]
            return web.Response(status=204)
        if "method" in heard.message and "id" in heard.message:
            return await self._requested(request, session, heard)
        if heard.method:
            self._notified(session, heard)
        else:
            session.asks.pop(heard.message["id"]).set_result(heard.message)
        return web.Response(status=202)

    async def _requested(
        self, request: web.Request, session: BackendSession, heard: Heard
    ) -> web.StreamResponse:
        if heard.method == "tools/call" or heard.method in self.shelf.streams:
            return await self._called(request, session, heard)
        return answer(heard.message["id"], result=self._answered(session, heard))

    def _initialize(self, heard: Heard) -> web.Response:
        wanted = heard.params["protocolVersion"]
        version = wanted if wanted in SESSIONED_VERSIONS else SESSIONED_VERSIONS[0]
        identity = f"session-{next(self._numbers)}" if self.gives_ids else None
        self.sessions[identity] = BackendSession(
            identity, heard.params["capabilities"], heard.params["clientInfo"], version
        )
        result = {
            "protocolVersion": version,
            "capabilities": self.capabilities,
            "serverInfo": self.info,
            **self.told(),
        }
        response = answer(heard.message["id"], result=result)
        if identity is not None:
            response.headers["Mcp-Session-Id"] = identity
        return response

    def _session(self, heard: Heard) -> BackendSession:
        if self.gives_ids and heard.session is None:
            raise Fault(-32000, "Bad Request: Server not initialized", status=400)
        session = self.sessions.get(heard.session)
        if session is None or (self.forgets_calls and heard.method == "tools/call"):
            raise self.lost
        return session

    async def _get(self, request: web.Request, session: BackendSession) -> web.StreamResponse:
        if not self.has_stream:
            return web.Response(status=405)
        session.stream = asyncio.Queue()
        try:
            return await self.stream(request, session.stream)
        finally:
            session.stream = None

    def _notified(self, session: BackendSession, heard: Heard) -> None:
        if heard.method != "notifications/cancelled":
            return
        call = session.calls.get(heard.params["requestId"])
        if call is not None and call.task is not None:
            call.task.cancel()

    def _answered(self, session: BackendSession, heard: Heard) -> Json:
        result = self.shelf.answered(heard.method, heard.params)
        match heard.method:
            case "resources/subscribe":
                session.uris.add(heard.params["uri"])
            case "resources/unsubscribe":
                session.uris.discard(heard.params["uri"])
            case "logging/setLevel":
                session.level = heard.params["level"]
        return result

    async def _called(
        self, request: web.Request, session: BackendSession, heard: Heard
    ) -> web.StreamResponse:
        tool = self.shelf.streams.get(heard.method) or self.shelf.tool(heard.params["name"])

        def run(messages: Messages) -> Awaitable[Json]:
            async def ask(method: str, params: Json) -> Json:
                return await self._asked(session, messages, method, params)

            identity, capabilities = heard.message["id"], session.capabilities
            return tool(Invocation(identity, heard.params, capabilities, messages.put_nowait, ask))

        call = self.begin(heard, run)
        session.calls[call.id] = call
        # The call goes on where its connection breaks: in this era that cancels nothing.
        return await self.respond_with(request, call)

    async def _asked(
        self, session: BackendSession, messages: Messages, method: str, params: Json
    ) -> Json:
        identity = f"ask-{next(self._numbers)}"
        session.asks[identity] = asyncio.get_running_loop().create_future()
        messages.put_nowait({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        try:
            return await session.asks[identity]
        except asyncio.CancelledError:
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": identity}}
            messages.put_nowait({"jsonrpc": "2.0", **cancelled})
            raise
        finally:
            session.asks.pop(identity, None)
