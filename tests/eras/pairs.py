"""Client era x backend era x transport of the backend, and a whole gateway between the two."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.eras.piped import PipedSessioned, PipedStateless
from tests.eras.tools import Tool
from tests.support import clients
from tests.support.backends import Fake, serving
from tests.support.clients import Answer, Client, SessionedClient, named
from tests.support.gateways import Served, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Json
from tests.support.stateless_backend import StatelessFake
from tests.support.stdio_servers import harness

SESSIONED, STATELESS = "sessioned", "stateless"
HTTP, STDIO = "http", "stdio"
RELAY = str(harness.FOLDER / "relay.py")
_FAKES: dict[tuple[str, str], Callable[..., Fake]] = {
    (SESSIONED, HTTP): SessionedFake,
    (STATELESS, HTTP): StatelessFake,
    (SESSIONED, STDIO): PipedSessioned,
    (STATELESS, STDIO): PipedStateless,
}
ABLE = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "roots": {"listChanged": True},
}


@dataclass(frozen=True, slots=True)
class Pair:
    """The era of the clients, the era of the backend, and how the backend is reached."""

    front: str
    back: str
    transport: str

    @property
    def parks(self) -> bool:
        """Whether a call waits at the backend while its client is away."""
        return (self.front, self.back) == (STATELESS, SESSIONED)

    def fake(self, **tools: Tool) -> Fake:
        """Return a backend with tools."""
        return _FAKES[self.back, self.transport](**tools)

    def client(self, served: Served, **declared: Any) -> AbstractAsyncContextManager[Client]:
        """Return a client, to be entered, that can be asked what it declares."""
        made = clients.sessioned if self.front == SESSIONED else clients.stateless
        return made(served.url, declared)  # type: ignore[return-value]

    @asynccontextmanager
    async def gateway(self, fake: Fake, **settings: Any) -> AsyncIterator[Served]:
        """Serve a fake behind a gateway that keeps nothing in the end."""
        async with serving(fake), gateway_of(self._config(fake, **settings)) as served:
            yield served
            await served.is_idle()

    def unwatched(self, fake: Fake) -> AbstractAsyncContextManager[Served]:
        """Serve a fake that serves already behind a gateway that may end with what it keeps."""
        return gateway_of(self._config(fake))

    def _config(self, fake: Fake, **settings: Any) -> dict[str, Any]:
        place: dict[str, Any] = {"url": fake.url, "transport": "streamable-http"}
        if self.transport == STDIO:
            place = {"stdio": {"command": sys.executable, "args": ["-S", RELAY, str(fake.port)]}}
        return {
            "backends": [{"name": "a", **place}],
            "aggregation": {"conflictResolutionConfig": {"prefixOnConflict": True}},
            **settings,
        }

    def dialogue(self, caller: Client, tool: str = "asks", **meta: Any) -> Dialogue:
        """Begin a call whose client may be asked something."""
        return Dialogue(caller, named(tool, **meta))


@dataclass(frozen=True, slots=True)
class Question:
    """What a client is asked: how the answer is addressed, the method and the params."""

    key: Any
    method: str
    params: Json


Say = Callable[[Question], Json]


class Dialogue:
    """A call of a client of either era: what it is asked, what it answers, how it ends."""

    def __init__(self, caller: Client, params: Json) -> None:
        self.caller = caller
        self.params = params
        self.notes: list[Json] = []
        self.state: str | None = None
        self.answer: Answer | None = None
        self._answer = caller.begin("tools/call", params)

    async def next(self) -> list[Question] | Json:
        """Return what is asked next, or the response that ends the call."""
        self.answer = await self._answer
        while (message := await self.answer.next()) is not None:
            if "method" in message and "id" in message:
                return [Question(message["id"], message["method"], message.get("params", {}))]
            if "method" in message:
                self.notes.append(message)
            elif message.get("result", {}).get("resultType") == "input_required":
                return self._required(message["result"])
            else:
                return message
        raise AssertionError("the answer ended without a response")

    def _required(self, result: Json) -> list[Question]:
        self.state = result.get("requestState")
        return [
            Question(key, each["method"], each.get("params", {}))
            for key, each in result["inputRequests"].items()
        ]

    async def asked(self) -> list[Question]:
        """Return what is asked next."""
        found = await self.next()
        assert isinstance(found, list), found
        return found

    async def say(self, questions: list[Question], say: Say, **meta: Any) -> None:
        """Answer; the member `result` of the answers is what `say` returns."""
        if isinstance(self.caller, SessionedClient):
            for each in questions:
                await self.caller.answer(each.key, result=say(each))
            return
        self._answer = self.again({each.key: say(each) for each in questions}, **meta)

    def again(self, responses: Json, **changed: Any) -> asyncio.Task[Answer]:
        """Send the call of a stateless client again with answers."""
        state = {} if self.state is None else {"requestState": self.state}
        params = {**self.params, "inputResponses": responses, **state, **changed}
        return self.caller.begin("tools/call", params)

    async def end(self, say: Say | None = None) -> Json:
        """Answer all that is asked, and return the response."""
        while isinstance(found := await self.next(), list):
            assert say is not None, found
            await self.say(found, say)
        return found

    async def said(self, say: Say | None = None) -> Any:
        """Answer all that is asked, and return what the tool was told."""
        message = await self.end(say)
        assert "result" in message, message
        return json.loads(message["result"]["content"][0]["text"])
