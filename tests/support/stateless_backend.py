"""A fake backend of the stateless era (2026-07-28)."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.support.backends import Fake, Heard, Messages, answer
from tests.support.shelf import Fault, Invocation, Json

VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"
_NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_CACHED = frozenset(
    ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
)
_FLAGS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}


@dataclass(slots=True, eq=False)
class Listening:
    """A subscription that is open: its id, what it honours, its stream."""

    id: Any
    notifications: Json
    stream: Messages


class StatelessFake(Fake):
    """Knows what each request says, and nothing of sessions."""

    listening: dict[int, Listening]

    async def start(self, port: int = 0) -> StatelessFake:
        """Begin to serve."""
        self.listening = {}
        await super().start(port)
        return self

    def tell(self, method: str, **params: object) -> None:
        """Tell the subscriptions that asked for it."""
        for each in self.listening.values():
            if _wants(each, method, params):
                tagged = {**params, "_meta": {f"{_META}subscriptionId": each.id}}
                each.stream.put_nowait({"jsonrpc": "2.0", "method": method, "params": tagged})

    def hears(self, uri: str) -> bool:
        """Tell whether updates of a resource would be told to anybody."""
        return any(
            uri in each.notifications.get("resourceSubscriptions", ())
            for each in self.listening.values()
        )

    async def respond(self, request: web.Request, heard: Heard) -> web.StreamResponse:
        """Answer one request; raise Fault."""
        if heard.http != "POST":
            return web.Response(status=405, headers={"Allow": "POST"})
        _check(heard)
        identity = heard.message["id"]
        match heard.method:
            case "server/discover":
                return answer(identity, result=self._discovered())
            case "subscriptions/listen":
                return await self._listen(request, heard)
            case "tools/call":
                return await self._called(request, heard)
        return answer(identity, result=self._answered(heard))

    def _discovered(self) -> Json:
        return {
            "resultType": "complete",
            "supportedVersions": [VERSION],
            "capabilities": self.capabilities,
            "ttlMs": 0,
            "cacheScope": "public",
            "_meta": {f"{_META}serverInfo": self.info},
            **self.told(),
        }

    def _answered(self, heard: Heard) -> Json:
        try:
            result = self.shelf.answered(heard.method, heard.params)
        except Fault as fault:
            fault.status = 404
            raise
        hints = {"ttlMs": 0, "cacheScope": "public"} if heard.method in _CACHED else {}
        return {"resultType": "complete", **hints, **result}

    async def _listen(self, request: web.Request, heard: Heard) -> web.StreamResponse:
        wanted, stream = heard.params["notifications"], Messages()
        listening = Listening(heard.message["id"], wanted, stream)
        self.listening[id(listening)] = listening
        acknowledged = {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "notifications": wanted,
                "_meta": {f"{_META}subscriptionId": listening.id},
            },
        }
        try:
            return await self.stream(request, stream, acknowledged)
        finally:
            del self.listening[id(listening)]

    async def _called(self, request: web.Request, heard: Heard) -> web.StreamResponse:
        tool = self.shelf.tool(heard.params["name"])

        async def ask(method: str, params: Json) -> Json:
            raise AssertionError(f"a stateless server sends no request: {method} {params}")

        def run(messages: Messages) -> Awaitable[Json]:
            async def complete() -> Json:
                capabilities = heard.params["_meta"][f"{_META}clientCapabilities"]
                return {"resultType": "complete"} | await tool(
                    Invocation(
                        heard.message["id"], heard.params, capabilities, messages.put_nowait, ask
                    )
                )

            return complete()

        call = self.begin(heard, run)
        try:
            return await self.respond_with(request, call)
        finally:
            # Who closes the stream before its end has cancelled the call.
            if call.task is not None and not call.task.done():
                call.task.cancel()


def _wants(listening: Listening, method: str, params: Json) -> bool:
    if method in _FLAGS:
        return listening.notifications.get(_FLAGS[method]) is True
    if method == "notifications/tasks":
        return params["taskId"] in listening.notifications.get("taskIds", ())
    return params.get("uri") in listening.notifications.get("resourceSubscriptions", ())


def _check(heard: Heard) -> None:
    meta = heard.params.get("_meta", {})
    version = meta.get(f"{_META}protocolVersion")
    if heard.method == "initialize" or version != VERSION:
        data = {"supported": [VERSION], "requested": version}
        raise Fault(-32022, "Unsupported protocol version", data, status=400)
    name = heard.params.get(_NAMED.get(heard.method, ""))
    told = heard.headers.get("mcp-method"), heard.headers.get("mcp-name")
    if told != (heard.method, name):
        raise Fault(-32020, "Header mismatch", status=400)
