"""The stream of a client's session at a backend, on which some servers ask what a call of that client needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from vmcp.gateway.ports import Reply
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Call
from vmcp.protocol.declared import may_be_asked
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.methods import ASKS
from vmcp.transport.outgoing import relay
from vmcp.transport.outgoing.handshake import BackendSession
from vmcp.transport.outgoing.pipe import EVENTS, HttpPipe

_ASKABLE = (b'"elicitation"', b'"sampling"', b'"roots"')
# A server may hold back the head of its answer until it has something to say: no call waits for that.
_HEAD_SECONDS = 0.5
_PAUSE_SECONDS = 1.0
# How often in a row the stream may end with nothing new on it.
_MOST_ENDS = 60


def is_worth_it(capabilities: bytes) -> bool:
    """Tell whether a client with these capabilities can be asked anything."""
    return any(each in capabilities for each in _ASKABLE)


@dataclass(slots=True, eq=False)
class _Open:
    """A call that is under way, and the questions that were put to its client."""

    call: Call
    reply: Reply
    asks: dict[bytes, asyncio.Task[None]] = field(default_factory=dict)


class Hearing:
    """Hold the stream of one session, and bring what is asked on it to the one call that it can be about."""

    def __init__(self, pipe: HttpPipe, session: BackendSession, send: relay.SendAnswer) -> None:
        self._pipe = pipe
        self._session = session
        self._send = send
        self._calls: list[_Open] = []
        self._begun = asyncio.Event()

    async def begun(self) -> None:
        """Wait until the stream is open, or will not be; a server that says nothing is not waited for."""
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                await self._begun.wait()
        except TimeoutError:
            self._begun.set()

    @contextmanager
    def during(self, call: Call, reply: Reply) -> Iterator[None]:
        """Let the client of a call be asked while the block runs."""
        here = _Open(call, reply)
        self._calls.append(here)
        try:
            yield
        finally:
            self._calls.remove(here)
            for task in here.asks.values():
                task.cancel()

    async def run(self) -> None:
        """Follow the stream, and the next one where it ends, until the backend gives none."""
        ends = 0
        async with asyncio.TaskGroup() as tasks:
            while ends < _MOST_ENDS:
                try:
                    heard = await self._follow(tasks)
                except BackendFailed:
                    heard = 0
                finally:
                    self._begun.set()
                if heard is None:
                    return
                ends = 0 if heard else ends + 1
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _follow(self, tasks: asyncio.TaskGroup) -> int | None:
        """Return how many messages came on a stream, None where there is none to be had."""
        response = await self._pipe.get(self._session.headers)
        if response.status != 200 or response.content_type != EVENTS:
            response.close()
            return None
        self._begun.set()
        heard = 0
        async with self._pipe.messages(response) as messages:
            async for message in messages:
                heard += 1
                self._heard(message, tasks)
        return heard

    def _heard(self, message: jsonrpc.Message, tasks: asyncio.TaskGroup) -> None:
        if isinstance(message, jsonrpc.Request):
            found = self._concerned(message)
            if found is None:
                tasks.create_task(self._refuse(message))
            else:
                work = relay.ask(message, found.reply, self._send)
                found.asks[message.id] = tasks.create_task(work)
        elif isinstance(message, jsonrpc.Notification) and message.method == relay.CANCELLED:
            self._taken_back(message.params.get(b'"requestId"') or b"")

    def _taken_back(self, identity: bytes) -> None:
        for each in self._calls:
            if (task := each.asks.get(identity)) is not None:
                task.cancel()

    def _concerned(self, asked: jsonrpc.Request) -> _Open | None:
        """Return the call whose client is asked: nothing tells which, so it must be the only one."""
        if asked.method not in ASKS:
            return None
        params = jsonrpc.params_json(asked.params)
        fit = [
            each
            for each in self._calls
            if may_be_asked(each.call.client.capabilities, asked.method, params)
        ]
        # The calls of one client session have one person behind them: any of them will do.
        is_clear = len(fit) == 1 or (fit and fit[-1].call.client.lasting)
        return fit[-1] if is_clear else None

    async def _refuse(self, asked: jsonrpc.Request) -> None:
        try:
            await self._send(asked.id, relay.own_answer(asked.method))
        except BackendFailed:
            # The server that asked has gone.
            return
