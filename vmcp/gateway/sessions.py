"""Client sessions of the sessioned era: what is known of each, and their end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

from vmcp.clock import Clock
from vmcp.gateway.deadline import Deadline
from vmcp.gateway.pool import Pool
from vmcp.gateway.replay import Archive, Place, Replays, Trail
from vmcp.gateway.watchers import KINDS, Seen, Watchers
from vmcp.model.identity import Caller
from vmcp.model.view import View
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Answer, Client
from vmcp.protocol.failures import SessionUnknown

log = logging.getLogger(__name__)

_IDLE_SECONDS = 30 * 60.0
_SWEEP_SECONDS = 15.0
_MOST_SESSIONS = 20_000
_ID_BYTES = 24
_CHANGED = {kind: b'"notifications/%b/list_changed"' % kind.encode() for kind in KINDS}
_UPDATED = b'"notifications/resources/updated"'
_GONE = Answer(b'{"code":-32603,"message":"The client has gone."}', is_error=True)

_ask_ids = itertools.count(1)


class Stream(Protocol):
    """A stream on which a client listens."""

    def put(self, message: bytes) -> bool:
        """Take a message; False where it cannot."""
        ...

    def close(self) -> None:
        """End after what waits."""
        ...


class Session:
    """One client's session; it is a watcher while it lasts."""

    __slots__ = (
        "_archive",
        "_asks",
        "_calls",
        "_changes",
        "_lost",
        "_parted",
        "_replays",
        "_seen",
        "_streams",
        "client",
        "id",
        "last_used",
        "uris",
    )

    def __init__(
        self,
        identity: str,
        client: Client,
        seen: Seen,
        now: float,
        archive: Archive,
        lost: Callable[[Session], None],
    ) -> None:
        self.id = identity
        self.client = client
        self.last_used = now
        self.uris: frozenset[str] = frozenset()
        self._seen = seen
        self._lost = lost
        self._calls: dict[bytes, Deadline] = {}
        self._asks: dict[bytes, asyncio.Future[Answer]] = {}
        self._streams: tuple[Stream, ...] = ()
        # The stream that was left last: its client may come back to it.
        self._parted: Stream | None = None
        self._archive = archive
        self._changes: Counter[str] = Counter()
        self._replays: Replays | None = None

    @property
    def caller(self) -> Caller:
        """Whose catalog it sees."""
        return self.client.caller

    @property
    def view(self) -> View:
        """What it sees of it."""
        return self.client.view

    def counted_by(self, changes: Counter[str]) -> None:
        """Say who counts the changes of which it is told."""
        self._changes = changes

    @property
    def streams(self) -> int:
        """How many streams are open on which it is told something."""
        return len(self._streams)

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way or a stream is open."""
        return bool(self._calls or self._streams)

    # Calls, by the raw ids that the client gave them.

    def begin(self, identity: bytes, deadline: Deadline) -> None:
        """Take note of a call, so that it can be cancelled."""
        self._calls[identity] = deadline

    def finish(self, identity: bytes, deadline: Deadline) -> None:
        """Take note that a call has ended."""
        if self._calls.get(identity) is deadline:
            del self._calls[identity]

    def cancel(self, identity: bytes) -> None:
        """Cancel a call, if it is still under way."""
        if (deadline := self._calls.get(identity)) is not None:
            deadline.cancel()

    # What the client is asked.

    def ask(self) -> tuple[bytes, asyncio.Future[Answer]]:
        """Return the raw id of a request to the client, and where its answer will come."""
        identity = b'"vmcp-%d"' % next(_ask_ids)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asks[identity] = future
        return identity, future

    def asked(self, identity: bytes) -> None:
        """Wait for an answer no more."""
        self._asks.pop(identity, None)

    def answer(self, response: jsonrpc.Response) -> None:
        """Take the client's answer; one that nobody waits for is dropped."""
        future = self._asks.pop(response.id, None) if response.id is not None else None
        if future is not None and not future.done():
            future.set_result(Answer(response.payload, is_error=response.is_error))

    # Streams, and what is told on them.

    def trail(self, request: bytes | None) -> Trail:
        """Begin to keep the events of a stream: of the call with this raw id, or of one that listens."""
        if self._replays is None:
            self._replays = Replays(self._archive)
        return self._replays.begin(request)

    def place(self, event_id: str) -> Place | None:
        """Return where a client that comes back was; None where its id is none of ours."""
        if self._replays is None:
            self._replays = Replays(self._archive)
        return self._replays.find(event_id)

    def open(self, stream: Stream, now: Seen) -> None:
        """Begin a stream; the client hears at once of what changed since it looked."""
        self._remove(stream)
        self._streams = (*self._streams, stream)
        if self._parted is stream:
            self._parted = None
        self.changed(now)

    def close(self, stream: Stream) -> None:
        """End a stream, or leave it until its client comes back."""
        self._remove(stream)
        self._parted = stream

    def _remove(self, stream: Stream) -> None:
        self._streams = tuple(each for each in self._streams if each is not stream)

    def saw(self, kind: str, digest: bytes) -> None:
        """Take note of the state of a list that the client has just been given."""
        self._seen = {**self._seen, kind: digest}

    def changed(self, now: Mapping[str, bytes]) -> None:
        """Tell the client of changed lists on its newest stream; without one it is told when it opens one."""
        for kind in KINDS:
            if self._seen.get(kind) != now[kind] and self._tell(
                jsonrpc.notification(_CHANGED[kind], None)
            ):
                self._seen = {**self._seen, kind: now[kind]}
                self._changes[kind] += 1

    def updated(self, params: bytes) -> None:
        """Tell the client of an updated resource, or keep it for when the client comes back."""
        message = jsonrpc.notification(_UPDATED, params)
        if not self._tell(message) and self._parted is not None:
            self._parted.put(message)

    def _tell(self, message: bytes) -> bool:
        # The specification wants each message on one stream only.
        return any(stream.put(message) for stream in reversed(self._streams))

    def lost(self) -> None:
        """End: its view is no more."""
        self._lost(self)

    def close_streams(self) -> None:
        """End all streams after what waits in them."""
        for stream in self._streams:
            stream.close()

    def end(self) -> None:
        """Close the streams, cancel the calls and the questions."""
        self.client.has_ended = True
        self.close_streams()
        if self._replays is not None:
            self._replays.end()
        for deadline in tuple(self._calls.values()):
            deadline.cancel()
        for future in tuple(self._asks.values()):
            if not future.done():
                future.set_result(_GONE)


class Sessions:
    """All client sessions; the longest idle one ends when there are too many."""

    def __init__(self, clock: Clock, pool: Pool, watchers: Watchers) -> None:
        self._clock = clock
        self._pool = pool
        self._watchers = watchers
        self._all: dict[str, Session] = {}
        self._archive = Archive(clock)
        # One for all sessions: each `self.end` would be an object of its own.
        self._end = self.end
        self._tasks: asyncio.TaskGroup | None = None

    def __len__(self) -> int:
        return len(self._all)

    @property
    def streams(self) -> int:
        """How many streams are open on which clients listen."""
        return sum([session.streams for session in self._all.values()])

    async def run(self) -> None:
        """End sessions that are idle for too long, until cancelled; then all end."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                while True:
                    await asyncio.sleep(_SWEEP_SECONDS)
                    self._sweep()
            finally:
                self._tasks = None

    def _sweep(self) -> None:
        oldest = self._clock.monotonic() - _IDLE_SECONDS
        for session in [s for s in self._all.values() if s.last_used < oldest and not s.is_busy]:
            self.end(session)
        self._archive.sweep()

    def create(self, client: Client, seen: Seen) -> Session:
        """Begin a session."""
        if len(self._all) >= _MOST_SESSIONS:
            idle = min(self._all.values(), key=lambda session: (session.is_busy, session.last_used))
            log.warning("the longest idle session ends", extra={"sessions": len(self._all)})
            self.end(idle)
        session = Session(
            secrets.token_urlsafe(_ID_BYTES),
            client,
            seen,
            self._clock.monotonic(),
            self._archive,
            self._end,
        )
        self._all[session.id] = session
        session.counted_by(self._watchers.changes)
        self._watchers.add(session)
        return session

    def find(self, identity: str, caller: Caller, view: View) -> Session:
        """Return a caller's session in a view; raise SessionUnknown, for one of another caller or view too."""
        session = self._all.get(identity)
        if session is None or session.client.caller != caller or session.client.view != view:
            raise SessionUnknown(
                "This session is unknown or has ended: send initialize to begin a new one."
            )
        session.last_used = self._clock.monotonic()
        return session

    def end(self, session: Session) -> None:
        """End a session, and what the backends keep for it."""
        if self._all.pop(session.id, None) is None:
            return
        session.end()
        self._watchers.remove(session)
        if self._tasks is not None:
            self._tasks.create_task(self._release(session))

    def end_of(self, callers: frozenset[Caller]) -> None:
        """End the sessions of callers."""
        for session in tuple(self._all.values()):
            if session.caller in callers:
                self.end(session)

    async def _release(self, session: Session) -> None:
        await self._watchers.leave_all(session, session.uris)
        await self._pool.release(session.client)

    def close_streams(self) -> None:
        """End the streams of all sessions."""
        for session in self._all.values():
            session.close_streams()

    async def end_all(self) -> None:
        """End every session and wait until the backends were told, each in its own bounded time."""
        sessions, self._all = list(self._all.values()), {}
        async with asyncio.TaskGroup() as tasks:
            for session in sessions:
                session.end()
                self._watchers.remove(session)
                tasks.create_task(self._release(session))
