"""The fakes of both eras behind the pipes of a child process, which relays to the test's event loop."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any, Self

from aiohttp import web

from tests.support.backends import Call, Fake, Heard, Messages
from tests.support.sessioned_backend import BackendSession, SessionedFake
from tests.support.shelf import Fault, Json
from tests.support.stateless_backend import StatelessFake


class Piped(Fake):
    """Serve lines where a fake serves HTTP; all else is the fake's own."""

    async def start(self, port: int = 0) -> Self:
        """Begin to serve lines, whatever the fake would serve."""
        self._requests: dict[Any, asyncio.Task[None]] = {}
        self._writers: list[asyncio.StreamWriter] = []
        self._server = await asyncio.start_server(self._taken, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]
        # What a fake takes for a sign that it serves.
        self._runner = self._server  # type: ignore[assignment]
        return self

    async def stop(self) -> None:
        """Die with all that is under way."""
        if self._runner is None:
            return
        self._runner = None
        self._server.close()
        for task in (*self._tasks, *self._requests.values()):
            task.cancel()
        for writer in self._writers:
            writer.close()

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        with suppress(ConnectionError, asyncio.CancelledError):
            while line := await reader.readline():
                self._heard(json.loads(line))
        writer.close()
        # With its process ends all that it was doing.
        for task in (*self._tasks, *self._requests.values()):
            task.cancel()

    def _heard(self, message: Json) -> None:
        heard = Heard("POST", self._headers(message), message)
        self.heard.add(heard)
        if heard.method == "notifications/cancelled":
            self._cancelled(heard)
            return
        task = asyncio.get_running_loop().create_task(self._respond(heard))
        if "method" in message and "id" in message:
            self._requests[message["id"]] = task
            task.add_done_callback(lambda _: self._requests.pop(message["id"], None))
        else:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _headers(self, _message: Json) -> dict[str, str]:
        """Return the headers that would have come with a message."""
        return {}

    def _cancelled(self, heard: Heard) -> None:
        """Take note that a request is wanted no more."""
        raise NotImplementedError

    async def _respond(self, heard: Heard) -> None:
        if (gate := self._held.get(heard.method)) is not None:
            await gate.wait()
        try:
            if heard.method in self.refuses:
                raise self.refuses[heard.method]
            response: Any = await self.respond(None, heard)  # type: ignore[arg-type]
        except Fault as fault:
            self.write({"id": heard.message.get("id"), "error": fault.error})
            return
        if isinstance(response, web.Response) and response.body:
            self.write(json.loads(response.body))  # type: ignore[arg-type]

    def write(self, message: Json) -> None:
        """Write a message to the newest process."""
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        if self._writers and not self._writers[-1].is_closing():
            self._writers[-1].write(line)

    async def respond_with(self, request: web.Request, call: Call) -> Any:
        """Write what a call says, and its response."""
        return await self.stream(request, call.messages)

    async def stream(self, _request: web.Request, messages: Messages, *first: Json) -> Any:
        """Write messages until None comes."""
        for message in first:
            self.write(message)
        while (following := await messages.get()) is not None:
            self.write(following)


class PipedSessioned(Piped, SessionedFake):
    """One session for all, as a process has it."""

    async def start(self, port: int = 0) -> Self:
        """Begin to serve."""
        self.gives_ids = False
        return await super().start(port)

    def _cancelled(self, heard: Heard) -> None:
        if (session := self.sessions.get(None)) is not None:
            self._notified(session, heard)

    def _initialize(self, heard: Heard) -> web.Response:
        response = super()._initialize(heard)
        session: BackendSession = self.sessions[None]
        session.stream = Messages()
        task = asyncio.get_running_loop().create_task(self._tell_all(session.stream))
        self._tasks.add(task)
        return response

    async def _tell_all(self, messages: Messages) -> None:
        while (message := await messages.get()) is not None:
            self.write(message)


class PipedStateless(Piped, StatelessFake):
    """A process to which each request says all."""

    async def start(self, port: int = 0) -> Self:
        """Begin to serve."""
        self.listening = {}
        return await super().start(port)

    def _headers(self, _message: Json) -> dict[str, str]:
        params = _message.get("params", {})
        name = params.get("uri", params.get("name"))
        return {"mcp-method": _message.get("method", ""), **({"mcp-name": name} if name else {})}

    def _cancelled(self, heard: Heard) -> None:
        if (task := self._requests.get(heard.params["requestId"])) is not None:
            task.cancel()
