"""What was said on the streams of a session, kept for a client that comes back with Last-Event-ID."""

from __future__ import annotations

import asyncio
import base64
import binascii
import itertools
import re
from collections import deque
from dataclasses import dataclass

from vmcp.clock import Clock
from vmcp.protocol import sse

_MOST_EVENTS = 256
_MOST_BYTES = 2**20
_MOST_BYTES_OF_A_SESSION = 4 * 2**20
_MOST_BYTES_OF_ALL = 128 * 2**20
# Streams that have ended, or whose client is away, in one session.
_MOST_PARTED = 32
_KEPT_SECONDS = 300.0
_RETRY_MILLISECONDS = 1000
_LONGEST_REQUEST_ID = 64

_CALL, _LISTENING = b"c", b"g"
_EVENT_ID = re.compile(r"([cg])([0-9]{1,18})-([0-9]{1,18})(?:-([A-Za-z0-9_-]{1,96}))?")
# The raw ids that a client may tell us; anything else in an event id is not of our making.
_REQUEST_ID = re.compile(rb'-?[0-9]+|"[ !#-\[\]-~]*"')


class Archive:
    """What the streams of all sessions keep together: bounded in bytes, and in time once a client is away."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._parted: dict[Trail, float] = {}
        self.held = 0

    def sweep(self) -> None:
        """Forget the streams to which no client came back in time."""
        oldest = self._clock.monotonic() - _KEPT_SECONDS
        for trail in [trail for trail, since in self._parted.items() if since <= oldest]:
            trail.drop()

    def parted(self, trail: Trail) -> None:
        """Take note that a stream has ended or that its client is away."""
        self._parted.pop(trail, None)
        self._parted[trail] = self._clock.monotonic()

    def joined(self, trail: Trail) -> None:
        """Take note that its client is back, or that it is forgotten."""
        self._parted.pop(trail, None)

    def grown(self, size: int) -> None:
        """Count what is held; past the bound the oldest streams are forgotten."""
        self.held += size
        while self.held > _MOST_BYTES_OF_ALL and self._parted:
            next(iter(self._parted)).drop()


class Replays:
    """The streams of one session that a client may come back to."""

    __slots__ = ("_archive", "_held", "_numbers", "_parted", "_trails")

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._numbers = itertools.count(1)
        self._trails: dict[bytes, Trail] = {}
        self._parted: dict[Trail, None] = {}
        self._held = 0

    def __len__(self) -> int:
        return len(self._trails)

    def begin(self, request: bytes | None) -> Trail:
        """Begin a stream: that of the call with this raw id, or with None one that listens."""
        kind = _LISTENING if request is None else _CALL
        trail = Trail(kind + b"%d" % next(self._numbers), request, self)
        self._trails[trail.name] = trail
        return trail

    def find(self, event_id: str) -> Place | None:
        """Return the place on a stream that an event id names; None where it is none of ours."""
        match = _EVENT_ID.fullmatch(event_id)
        if match is None:
            return None
        kind, stream, number, request = match.groups()
        trail = self._trails.get((kind + stream).encode())
        if trail is None and kind.encode() == _LISTENING:
            return None
        return Place(trail, int(number), _request(request))

    def parted(self, trail: Trail) -> None:
        """Take note that a stream has ended or that its client is away; of too many the oldest is forgotten."""
        self._parted.pop(trail, None)
        self._parted[trail] = None
        self._archive.parted(trail)
        if len(self._parted) > _MOST_PARTED:
            next(iter(self._parted)).drop()

    def joined(self, trail: Trail) -> None:
        """Take note that its client is back."""
        self._parted.pop(trail, None)
        self._archive.joined(trail)

    def grown(self, size: int) -> None:
        """Count what is held; past the bound streams are forgotten, the ended ones first."""
        self._held += size
        while self._held > _MOST_BYTES_OF_A_SESSION:
            live = (each for each in self._trails.values() if each.request is not None)
            trail = next(itertools.chain(self._parted, live), None)
            if trail is None:
                break
            trail.drop()
        self._archive.grown(size)

    def forget(self, trail: Trail, size: int) -> None:
        """Forget a stream, which held so many bytes."""
        self._trails.pop(trail.name, None)
        self.joined(trail)
        self._held -= size
        self._archive.held -= size

    def end(self) -> None:
        """Forget all."""
        for trail in tuple(self._trails.values()):
            trail.drop()


class Trail:
    """The events of one stream: its newest ones are kept; one reader at a time is sent them.

    `request` is the raw id of the call whose stream it is, None for a stream that listens.
    """

    __slots__ = (
        "_events",
        "_held",
        "_last",
        "_replays",
        "_sent",
        "_suffix",
        "_unsent",
        "_waiter",
        "is_closed",
        "name",
        "reader",
        "request",
    )

    def __init__(self, name: bytes, request: bytes | None, replays: Replays) -> None:
        self.name = name
        self.request = request
        self.reader: object | None = None
        self.is_closed = False
        self._replays: Replays | None = replays
        self._suffix = _suffix(request)
        self._events: deque[bytes] = deque()
        self._held = 0
        # The numbers of the newest event and of the last one that the reader took, and the bytes between them.
        self._last = 0
        self._sent = 0
        self._unsent = 0
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_kept(self) -> bool:
        """Whether a client may come back to it."""
        return self._replays is not None

    def opening(self) -> bytes:
        """Return an event without data: whoever has its id can come back before anything was said."""
        return sse.priming(self._id(0), _RETRY_MILLISECONDS)

    def _id(self, number: int) -> bytes:
        return b"%b-%d%b" % (self.name, number, self._suffix)

    # Who is sent the events.

    def attach(self, reader: object, after: int = 0) -> None:
        """Let a reader be sent what follows an event; it takes the place of the one before."""
        self.reader = reader
        self._sent = max(min(after, self._last), self._last - len(self._events))
        self._unsent = sum(map(len, itertools.islice(self._events, self._index(), None)))
        if self.request is None:
            self.is_closed = False
            if self._replays is not None:
                self._replays.joined(self)
        self._wake()

    def detach(self, reader: object) -> None:
        """Take note that a reader has gone, unless another one has taken its place."""
        if self.reader is not reader:
            return
        self.reader = None
        if self.request is None and self._replays is not None:
            self._replays.parted(self)
        self._wake()

    async def next(self, reader: object) -> bytes | None:
        """Return the next event for a reader; None at the end, or when another one has taken its place."""
        while self.reader is reader:
            if (index := self._index()) < len(self._events):
                event = self._events[index]
                self._sent += 1
                self._unsent -= len(event)
                return event
            if self.is_closed:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return None

    def _index(self) -> int:
        return self._sent - self._last + len(self._events)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # What is said.

    def add(self, message: bytes) -> bytes:
        """Keep a message, and return the event that it is."""
        self._last += 1
        event = sse.render(message, self._id(self._last))
        if self._replays is None:
            self._sent = self._last
        else:
            self._keep(event)
            self._wake()
        return event

    def _keep(self, event: bytes) -> None:
        held = self._held
        self._events.append(event)
        self._held += len(event)
        self._unsent += len(event)
        while len(self._events) > 1 and (
            len(self._events) > _MOST_EVENTS or self._held > _MOST_BYTES
        ):
            self._lose()
        if self._replays is not None:
            self._replays.grown(self._held - held)

    def _lose(self) -> None:
        if not self._index():
            # The reader has not got it either: it goes on with the one after.
            self._sent += 1
            self._unsent -= len(self._events[0])
        self._held -= len(self._events.popleft())

    def put(self, message: bytes) -> bool:
        """Add a message of a stream that listens; False where the stream is closed, or is now.

        It is closed when too much waits for its reader. Without a reader it is kept for one that comes back.
        """
        if self._replays is None:
            return False
        if self.reader is not None:
            if not self.is_closed and self._is_behind(len(message)):
                self.close()
            if self.is_closed:
                return False
        self.add(message)
        return True

    def _is_behind(self, more: int) -> bool:
        waiting = self._last - self._sent
        return waiting >= _MOST_EVENTS or (waiting > 0 and self._unsent + more > _MOST_BYTES)

    def close(self) -> None:
        """Let the reader come to its end after what is kept; of a call, nothing comes any more."""
        self.is_closed = True
        if self.request is not None and self._replays is not None:
            self._replays.parted(self)
        self._wake()

    def drop(self) -> None:
        """Keep nothing more; nobody can come back."""
        if self._replays is not None:
            replays, self._replays = self._replays, None
            replays.forget(self, self._held)
            self._events.clear()
            self._held = self._unsent = 0
            self._sent = self._last
            self._wake()


@dataclass(frozen=True, slots=True)
class Place:
    """A place on a stream: the stream, None if forgotten; the event; the raw id of its call where it is told."""

    trail: Trail | None
    number: int
    request: bytes | None


def _suffix(request: bytes | None) -> bytes:
    """Return what the event ids of a call tell of it, so that a forgotten one can still be given an error."""
    if request is None or len(request) > _LONGEST_REQUEST_ID:
        return b""
    return b"-" + base64.urlsafe_b64encode(request).rstrip(b"=")


def _request(told: str | None) -> bytes | None:
    """Return the raw id that an event id tells; it is the client's word."""
    if told is None:
        return None
    try:
        raw = base64.urlsafe_b64decode(told + "=" * (-len(told) % 4))
    except binascii.Error:
        return None
    return raw if _REQUEST_ID.fullmatch(raw) else None
