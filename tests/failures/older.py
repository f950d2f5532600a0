"""Lines of the matrix about backends of the older HTTP+SSE transport, each of which answers on a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from aiohttp import web

from tests.failures.cases import (
    OPENING,
    SSE,
    TIMEOUT,
    Case,
    Fails,
    Missing,
    Seen,
    Since,
    Told,
)
from tests.failures.lines import NEXT_ATTEMPT, NEXT_CALL
from tests.failures.sites import Mute, Site
from tests.support.backends import Heard, Messages
from tests.support.ports import lasting_port
from tests.support.scripted import Era
from tests.support.shelf import Invocation, Json, text
from tests.support.sse_backend import SseFake

_HUGE = 20 * 2**20
# What a POST with a call is answered with; all else is said on the stream, or not.
_STATUSES = {"forgets": 404, "refuses": 503, "silent": 202, "cuts": 202, "floods": 202}


async def echo(_: Invocation) -> Json:
    """Answer as the other sites do."""
    return text("echo")


class Troubled(SseFake):
    """A backend of the older transport that is in the trouble that its `mode` names."""

    def __init__(self) -> None:
        super().__init__(echo=echo)
        self.mode = ""

    async def respond(self, request: web.Request, heard: Heard) -> web.StreamResponse:
        """Answer one request, or do what the mode says."""
        if self.mode == "nameless" and heard.http == "GET":
            return await _nameless(request)
        if self.mode == "no stream" and heard.http == "GET":
            return web.Response(status=500)
        if heard.method == "tools/call" and self.mode in _STATUSES:
            self._say(heard, self.outs[request.query["session"]])
            return web.Response(status=_STATUSES[self.mode], headers={"Retry-After": "7"})
        return await super().respond(request, heard)

    def _say(self, heard: Heard, stream: Messages) -> None:
        """Say on the stream what the mode wants in place of the answer."""
        if self.mode == "cuts":
            stream.put_nowait(None)
        elif self.mode == "floods":
            content = {"content": [{"type": "text", "text": "x" * _HUGE}]}
            stream.put_nowait({"jsonrpc": "2.0", "id": heard.message["id"], "result": content})


async def _nameless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await asyncio.get_running_loop().create_future()
    return response


class SseSite(Site):
    """A server of the older transport; `gone` means that nobody listens while it is in trouble."""

    def __init__(self, era: Era, mode: str) -> None:
        super().__init__(era)
        self.port = lasting_port()
        self._backend = Troubled()
        self._mode = mode

    def entry(self) -> Mapping[str, Any]:
        """Return where it is reached."""
        return _entry(self.port)

    async def start(self) -> None:
        """Serve."""
        await self._backend.start(self.port)

    async def begin(self) -> None:
        """Be in trouble."""
        if self._mode == "gone":
            await self._backend.stop()
            return
        if self._backend.port == 0:
            await self.start()
        self._backend.mode = self._mode

    async def end(self) -> None:
        """Behave again."""
        self._backend.mode = ""
        if self._mode == "gone":
            await self.start()

    async def stop(self) -> None:
        """Be gone."""
        await self._backend.stop()


class MuteSse(Mute):
    """A place of the older transport that takes connections and says nothing while it is in trouble."""

    def __init__(self, era: Era) -> None:
        super().__init__(era)
        self._backend = Troubled()

    def entry(self) -> Mapping[str, Any]:
        """Return where it is reached."""
        return _entry(self.port)

    async def start(self) -> None:
        """Serve."""
        await self._backend.start(self.port)
        self._serving.push_async_callback(self._backend.stop)


def _entry(port: int) -> Mapping[str, Any]:
    return {"url": f"http://127.0.0.1:{port}/sse", "transport": "sse"}


def _site(mode: str) -> Callable[[Era], Site]:
    return partial(SseSite, mode=mode)


def _missing(name: str, phase: str, what: str, mode: str, *, told: Told) -> Case:
    make, heals = _site(mode), NEXT_ATTEMPT
    since = Since.START
    return Case(f"SSE {name}", phase, what, make, Missing(), told, heals, SSE, since)


def _calling(name: str, what: str, mode: str, sees: Seen, *, told: Told, heals: str) -> Case:
    return Case(f"SSE {name}", "call", what, _site(mode), sees, told, heals, SSE)


OLDER = (
    _missing(
        "nobody listens",
        "connect",
        "Nobody listens on its port.",
        "gone",
        told=Told("failing", "Unreachable", "connect"),
    ),
    _missing(
        "names nothing",
        "initialize",
        "Its stream names no endpoint.",
        "nameless",
        told=Told("failing", "TimedOut", "initialize", OPENING),
    ),
    _missing(
        "no stream",
        "initialize",
        "It answers the request for its stream with 500.",
        "no stream",
        told=Told("failing", "Rejected", "initialize"),
    ),
    _calling(
        "gone",
        "It ends; nobody listens on its port any more.",
        "gone",
        Fails("Unreachable"),
        told=Told("failing", "Unreachable", "connect"),
        heals=NEXT_ATTEMPT,
    ),
    Case(
        "SSE says nothing",
        "call",
        "It takes connections and requests, and says nothing.",
        MuteSse,
        Fails("TimedOut", TIMEOUT),
        Told("failing", "TimedOut", "initialize", OPENING),
        NEXT_ATTEMPT,
        SSE,
    ),
    _calling(
        "call hangs",
        "It does not answer a call.",
        "silent",
        Fails("TimedOut", TIMEOUT),
        told=Told("healthy", "TimedOut", "call"),
        heals=NEXT_CALL,
    ),
    _calling(
        "cuts its stream",
        "It ends the stream instead of answering.",
        "cuts",
        Fails("ConnectionLost"),
        told=Told("healthy", "ConnectionLost", "call"),
        heals=NEXT_CALL,
    ),
    _calling(
        "busy",
        "It answers with 503 and `Retry-After: 7`.",
        "refuses",
        Fails("Overloaded", retry_after_seconds=7),
        told=Told("healthy", "Overloaded", "call"),
        heals=NEXT_CALL,
    ),
    _calling(
        "session gone",
        "It answers every call with 404, also in a new session.",
        "forgets",
        Fails("SessionLost"),
        told=Told("healthy", "SessionLost", "call"),
        heals=NEXT_CALL,
    ),
    _calling(
        "huge",
        "It answers with one event of 20 MB.",
        "floods",
        Fails("TooLarge"),
        told=Told("healthy", "TooLarge", "call"),
        heals=NEXT_CALL,
    ),
)
