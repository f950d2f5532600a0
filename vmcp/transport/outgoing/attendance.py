"""Attend to one connection of a backend: hear what it tells, keep its lists new, and check that it answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Protocol

from vmcp.gateway.vitals import Vitals
from vmcp.model.health import Stage, State
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.jsonrpc import Notification
from vmcp.transport.outgoing import listing
from vmcp.transport.outgoing.speech import BackendGone, EraContradicted, NoStream, Speech, during

# A stream that held this long was a good one: the next one is opened without a long wait.
_GOOD_SECONDS = 60.0
_LONGEST_WAIT = 60.0
# How often a backend is listed again that has no stream to tell of changes.
_RELIST_SECONDS = 30.0
# A backend may tell of a change whenever it is listed: changes in a row are answered less and less quickly.
_CALM_SECONDS = 5.0
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
# The first wait before an ended stream is opened anew.
_FIRST_REOPEN = 0.1
# How long the first lists wait for the stream of changes.
_STREAM_FIRST_SECONDS = 1.0
# Calls that fail one after the other cause checks, but not more often than this.
_LEAST_BETWEEN_CHECKS = 1.0

_CHANGES = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}
_UPDATED = "notifications/resources/updated"


class ConnectionGivenUp(Exception):
    """The connection is to be opened anew; why has been told already."""


class Owner(Protocol):
    """Who keeps the backend, as the attendance sees it."""

    async def relist(self, speech: Speech, wanted: frozenset[str]) -> None:
        """Ask for lists anew and report them; raise BackendFailed."""
        ...

    async def check(self, speech: Speech) -> None:
        """Check that the backend answers and report it.

        Raise BackendFailed, EraContradicted or ConnectionGivenUp where it is to be connected anew.
        """
        ...

    def listening(self) -> None:
        """Report that updates are told now."""
        ...

    def updated(self, message: Notification) -> None:
        """Report an update of a resource."""
        ...


class Attendance:
    """One connection of a backend: its stream is held, its lists are kept as new as it says."""

    def __init__(self, owner: Owner, speech: Speech, vitals: Vitals) -> None:
        self._owner = owner
        self._speech = speech
        self._vitals = vitals
        self._stale = set(listing.ALL_LISTS)
        self._bell = asyncio.Event()
        self._heard = asyncio.Event()
        self._listed = asyncio.Event()
        self._look = asyncio.Event()
        self._is_suspect = False
        self._has_stream = True

    async def run(self, tried: asyncio.Event, again: asyncio.Event) -> None:
        """Attend until `again` is set; raise what ends the connection when the backend is lost.

        `tried` is set after the first lists.
        """
        failures: list[Exception] = []
        works = (
            self._list(tried),
            self._listen(),
            self._probe(),
            self._follow_rules(),
            _until(again),
        )
        async with asyncio.TaskGroup() as tasks:
            started = [tasks.create_task(_noted(work, failures)) for work in works]
            await asyncio.wait(started, return_when=asyncio.FIRST_COMPLETED)
            for work in started:
                work.cancel()
        if failures:
            raise failures[0]

    def suspect(self) -> None:
        """Have the backend checked now: a call has not come through."""
        self._is_suspect = True
        self._look.set()

    async def _probe(self) -> None:
        # Lists are as good as a check.
        await self._listed.wait()
        while True:
            await self._due()
            is_suspect, self._is_suspect = self._is_suspect, False
            before, peer = self._vitals.state, self._speech.peer
            await self._owner.check(self._speech)
            is_back = before is not State.HEALTHY and self._vitals.state is State.HEALTHY
            if is_back or self._speech.peer != peer:
                self._ring(listing.ALL_LISTS)
            if is_suspect:
                await asyncio.sleep(_LEAST_BETWEEN_CHECKS)

    async def _due(self) -> None:
        """Wait until a whole interval has passed without a sign of life, or there is a suspicion."""
        jitter = random.uniform(0.9, 1.1)
        while not self._is_suspect and (left := self._vitals.due_in(jitter)) > 0:
            self._look.clear()
            await _within(left, self._look.wait())

    async def _follow_rules(self) -> None:
        async for _ in self._vitals.rules.changes():
            self._look.set()

    async def _list(self, tried: asyncio.Event) -> None:
        # What changes between a list and the opening of the stream would be missed: the stream goes first.
        await _within(_STREAM_FIRST_SECONDS, self._heard.wait())
        self._heard.set()
        loop, pause = asyncio.get_running_loop(), 0.0
        while True:
            self._bell.clear()
            wanted, self._stale = frozenset(self._stale), set()
            if wanted:
                with during(Stage.LIST):
                    await self._owner.relist(self._speech, wanted)
            tried.set()
            self._listed.set()
            listed = loop.time()
            every = None if self._has_stream else _RELIST_SECONDS * random.uniform(0.9, 1.1)
            if not await _within(every, self._bell.wait()):
                self._stale.update(listing.ALL_LISTS)
            is_calm = loop.time() - listed > _CALM_SECONDS
            pause = 0.0 if is_calm else min(max(_FIRST_PAUSE, pause * 2), _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        wait = _FIRST_REOPEN
        while True:
            began = loop.time()
            try:
                with during(Stage.STREAM):
                    await self._speech.listen(self._hear, self._opened)
            except NoStream:
                self._has_stream = False
                self._heard.set()
                # Where there was a stream before, who knows what was not told since it ended.
                self._ring(listing.ALL_LISTS)
                await asyncio.get_running_loop().create_future()
            except BackendFailed as failure:
                # A balancer that cuts silent streams is no loss of the backend: opening it anew tells.
                if failure.reason != "ConnectionLost" or isinstance(failure, BackendGone):
                    raise
            wait = _FIRST_REOPEN if loop.time() - began > _GOOD_SECONDS else wait
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(wait * 2, _LONGEST_WAIT)

    def _opened(self) -> None:
        if self._heard.is_set():
            # The stream was away, or came late: changes may have been missed.
            self._ring(listing.ALL_LISTS)
        self._heard.set()
        self._owner.listening()

    def _ring(self, lists: Iterable[str]) -> None:
        self._stale.update(lists)
        self._bell.set()

    def _hear(self, message: Notification) -> None:
        if (lists := _CHANGES.get(message.method)) is not None:
            self._ring(lists)
        elif message.method == _UPDATED:
            self._owner.updated(message)


async def _noted(work: Coroutine[None, None, None], failures: list[Exception]) -> None:
    try:
        await work
    except (BackendFailed, EraContradicted, ConnectionGivenUp) as failure:
        failures.append(failure)


async def _until(event: asyncio.Event) -> None:
    await event.wait()


async def _within(seconds: float | None, waiting: Awaitable[object]) -> bool:
    """Tell whether something came to pass in time."""
    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return False
    return True
