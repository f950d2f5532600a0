"""Hear of tasks for stateless clients: a subscription of their own at each backend that made some of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from vmcp.gateway.deadline import Deadline
from vmcp.gateway.pool import Pool
from vmcp.gateway.tasks import Tasks
from vmcp.model.document import Document
from vmcp.model.keys import ObjectKey
from vmcp.protocol import tasks
from vmcp.protocol.call import Answer, Ask, Call, Client, Note
from vmcp.protocol.document import MalformedJson, quote, split, split_array, unquote
from vmcp.protocol.failures import Failure

log = logging.getLogger(__name__)

_MOST_STREAMS = 256
# How long a subscription waits for the word of the backends.
_FIRST_SECONDS = 5.0
_FIRST_WAIT = 1.0
_LONGEST_WAIT = 60.0
_LISTEN = "subscriptions/listen"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_NOTIFICATIONS, _IDS = b'"notifications"', b'"taskIds"'
_NOBODY = Answer(b'{"code":-32603,"message":"Nobody is asked here."}', is_error=True)

Tell = Callable[[Document], None]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client wants to hear of: `call` is its own request, `tell` takes the params of what comes."""

    call: Call
    ids: tuple[str, ...]
    tell: Tell


class TaskStreams:
    """Open and close the subscriptions; bounded in number over all clients."""

    def __init__(self, known: Tasks, pool: Pool) -> None:
        self._known = known
        self._pool = pool
        self._open = 0

    @asynccontextmanager
    async def following(self, wish: Wish) -> AsyncIterator[tuple[str, ...]]:
        """Hear of tasks while the block runs; it is given those of which the backends agreed to tell."""
        streams = [
            _Stream(self._known, self._pool, key, Wish(wish.call, ids, wish.tell))
            for key, ids in self._by_maker(wish.call.client, wish.ids).items()
        ][: max(_MOST_STREAMS - self._open, 0)]
        self._open += len(streams)
        try:
            async with asyncio.TaskGroup() as group:
                works = [group.create_task(stream.run()) for stream in streams]
                try:
                    await _all_said(streams)
                    yield tuple(each for stream in streams for each in stream.honoured)
                finally:
                    for work in works:
                        work.cancel()
        finally:
            self._open -= len(streams)

    def _by_maker(self, client: Client, ids: Iterable[str]) -> dict[ObjectKey, tuple[str, ...]]:
        found: dict[ObjectKey, tuple[str, ...]] = {}
        for identity in ids:
            if (key := self._known.maker(client, identity)) is not None:
                found[key] = (*found.get(key, ()), identity)
        return found


class _Stream:
    """The subscription at one backend, opened anew when it is lost; it is the Reply of its own calls."""

    def __init__(self, known: Tasks, pool: Pool, key: ObjectKey, wish: Wish) -> None:
        self.deadline = Deadline()
        self.honoured: tuple[str, ...] = ()
        self.has_said = asyncio.Event()
        self._was_open = False
        self._known = known
        self._pool = pool
        self._key = key
        self._wish = wish

    async def run(self) -> None:
        """Listen until cancelled, or until the backend refuses or knows none of the tasks any more."""
        wait = _FIRST_WAIT
        while self._is_wanted():
            try:
                if await self._listened():
                    break
            except Failure as failure:
                reason = type(failure).__name__
                log.debug(
                    "tasks are not heard of", extra={"backend": self._key.name, "why": reason}
                )
            self.has_said.set()
            wait = _FIRST_WAIT if self._was_open else wait
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
        self.has_said.set()

    def _is_wanted(self) -> bool:
        client = self._wish.call.client
        return any(self._known.maker(client, each) == self._key for each in self._wish.ids)

    async def _listened(self) -> bool:
        """Follow one subscription to its end; True where the backend refuses it."""
        self._was_open = False
        member = self._pool.members.get(self._key)
        if member is None:
            return False
        call = self._wish.call
        wanted = Document(((_IDS, b"[" + b",".join(map(quote, self._wish.ids)) + b"]"),))
        params = call.params.with_member(_NOTIFICATIONS, wanted.join())
        end = await member.client.call(Call(call.client, _LISTEN, params, call.meta), self)
        return not isinstance(end, Ask) and end.is_error

    async def note(self, note: Note) -> None:
        """Take what the backend says."""
        params = Document(()) if note.params is None else split(note.params)
        if note.method == _ACKNOWLEDGED:
            self.honoured = _agreed(params, self._wish.ids)
            self._was_open = True
            self.has_said.set()
        elif note.method == tasks.TOLD:
            self._told(note.params or b"{}", params)

    def _told(self, raw: bytes, params: Document) -> None:
        client = self._wish.call.client
        task = tasks.read(raw, client.era)
        # A backend tells of what it made, and of nothing else.
        if task is not None and task.id in self._wish.ids:
            self._known.told(client, task)
            self._wish.tell(params)

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        """Answer with an error: a subscription asks nothing."""
        return tuple(_NOBODY for _ in ask.requests)


async def _all_said(streams: Iterable[_Stream]) -> None:
    try:
        async with asyncio.timeout(_FIRST_SECONDS):
            for stream in streams:
                await stream.has_said.wait()
    except TimeoutError:
        return


def _agreed(params: Document, ids: tuple[str, ...]) -> tuple[str, ...]:
    """Return of which tasks a backend tells."""
    try:
        listed = split(params.get(_NOTIFICATIONS) or b"{}").get(_IDS) or b"[]"
        agreed = {unquote(item) for item in split_array(listed)}
    except MalformedJson:
        return ()
    return tuple(each for each in ids if each in agreed)
