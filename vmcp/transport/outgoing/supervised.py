"""Keep one backend: connect, list, listen, and again after a loss; carry calls meanwhile."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager

from vmcp.gateway.ports import BackendClient, Findings, Reply
from vmcp.model.backend import Backend
from vmcp.model.document import Document
from vmcp.model.inventory import Inventory
from vmcp.protocol.call import Ask, Call, Client, Done
from vmcp.protocol.document import MalformedJson, quote, split, unquote
from vmcp.protocol.failures import BackendFailed, Refusal
from vmcp.protocol.jsonrpc import Notification
from vmcp.protocol.methods import META_SUBSCRIPTION
from vmcp.transport.outgoing import listing
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.silence import Silence
from vmcp.transport.outgoing.speech import EraContradicted, NoStream, Refused, Speech

log = logging.getLogger(__name__)

_FIRST_WAIT = 1.0
_LONGEST_WAIT = 60.0
# A connection that held this long was a good one: the next loss starts with the shortest wait.
_GOOD_SECONDS = 60.0
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

_CHANGES = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}
_UPDATED = "notifications/resources/updated"
_META = b'"_meta"'

Connect = Callable[[], AbstractAsyncContextManager[Speech]]


class SupervisedBackend:
    """A backend's client: `connect` opens a Speech, which is replaced when it is lost."""

    def __init__(
        self, backend: Backend, connect: Connect, findings: Findings, errands: Errands
    ) -> None:
        self.backend = backend
        self._connect = connect
        self._findings = findings
        self._errands = errands
        self._speech: Speech | None = None
        self._tried = asyncio.Event()
        self._again = asyncio.Event()
        self._known: Inventory | None = None
        self._uris: set[str] = set()
        self._has_listened = False
        self._is_waiting = False

    @property
    def uris(self) -> frozenset[str]:
        """The resources of which it asks for updates."""
        return frozenset(self._uris)

    def retune(self, backend: Backend) -> None:
        """Go on with other settings of the backend, which need no new connection."""
        self.backend = backend
        if self._speech is not None:
            self._speech.retune(backend)

    def succeed(self, before: BackendClient) -> None:
        """Take over the subscriptions of another client; what was told in between, nobody knows."""
        self._uris = set(before.uris)
        self._has_listened = True

    def retire(self) -> None:
        """Report nothing any more: another one speaks for the backend, or it is no more."""
        self._findings = Silence()

    async def run(self) -> None:
        """Keep the connection until cancelled."""
        async with self._errands.running():
            try:
                await self._keep()
            finally:
                if self._speech is not None:
                    self._speech.forget_clients()

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        wait = _FIRST_WAIT
        while True:
            began = loop.time()
            wished = await self._attempt()
            if self._again.is_set():
                self._again.clear()
                continue
            self._tried.set()
            wait = _FIRST_WAIT if loop.time() - began > _GOOD_SECONDS else wait
            await self._pause(max(wait * random.uniform(0.9, 1.1), wished))
            wait = min(wait * 2, _LONGEST_WAIT)

    async def _pause(self, seconds: float) -> None:
        """Wait before the next attempt, or until a call shows that the backend is back, or another one now."""
        self._is_waiting = True
        try:
            async with asyncio.timeout(seconds):
                await self._again.wait()
        except TimeoutError:
            return
        finally:
            self._is_waiting = False
        self._again.clear()

    async def _attempt(self) -> float:
        """Connect and attend until that ends; return for how long the backend wishes to be left alone."""
        try:
            async with self._connect() as speech:
                speech.retune(self.backend)
                self._speech = speech
                await self._attend(speech)
        except BackendFailed as failure:
            self._findings.failed(self.backend.key, failure.reason, failure.message)
            return min(failure.retry_after_seconds, _LONGEST_WAIT)
        except EraContradicted as error:
            self._findings.failed(
                self.backend.key, "NotMcp", f"Backend '{self.backend.name}': {error}."
            )
        except TimeoutError:
            self._findings.failed(
                self.backend.key, "TimedOut", f"Backend '{self.backend.name}': no answer in time."
            )
        return 0.0

    async def _attend(self, speech: Speech) -> None:
        attendance = _Attendance(self, speech)
        for uri in sorted(self._uris):
            await self._subscribe_again(speech, uri)
        await attendance.run(self._tried, self._again)

    async def _subscribe_again(self, speech: Speech, uri: str) -> None:
        try:
            await speech.subscribe(uri)
        except Refused:
            log.info("a subscription was refused", extra={"backend": self.backend.name})

    async def relist(self, speech: Speech, wanted: frozenset[str]) -> None:
        """Ask for lists anew and report them; raise BackendFailed."""
        self._known = await listing.inventory(
            speech.ask, self.backend.key, self.backend.name, speech.peer, self._known, wanted
        )
        self._findings.listed(self._known)

    def listening(self) -> None:
        """Report that updates are told now; of those that came while none were, nobody knows."""
        if self._has_listened:
            for uri in sorted(self._uris):
                params = b'{"uri":' + quote(uri) + b"}"
                self._findings.resource_updated(self.backend.key, uri, params)
        self._has_listened = True

    def updated(self, message: Notification) -> None:
        """Report an update of a resource."""
        try:
            uri = unquote(message.params.get(b'"uri"') or b"")
            params = _untagged(message.params).join()
        except MalformedJson:
            return
        self._findings.resource_updated(self.backend.key, uri, params)

    async def _speaking(self) -> Speech:
        if self._speech is None:
            await self._tried.wait()
        if self._speech is None:
            raise BackendFailed(self.backend.name, "Unreachable", "it is not connected.")
        return self._speech

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        """Carry a call; where the backend has changed its era it is connected anew, once."""
        speech = await self._speaking()
        try:
            end = await speech.call(call, reply)
        except EraContradicted as error:
            contradiction = error.end
        else:
            if self._is_waiting:
                # It answers, so it is back: our own connection need not wait any longer.
                self._again.set()
            return end
        now = await self._reconnected(speech)
        if contradiction is not None and now.peer.era is speech.peer.era:
            return contradiction
        try:
            return await now.call(call, reply)
        except EraContradicted as error:
            if error.end is not None:
                return error.end
            raise BackendFailed(self.backend.name, "InvalidAnswer", f"{error}.") from None

    async def _reconnected(self, old: Speech) -> Speech:
        """Have the connection opened anew, by the task that keeps it, and return what it speaks now."""
        if self._speech is old:
            self._tried.clear()
            self._again.set()
            await self._tried.wait()
        return await self._speaking()

    async def notify(self, client: Client, method: str, params: bytes | None) -> None:
        """Pass a client's notification on."""
        if self._speech is not None:
            await self._speech.notify(client, method, params)

    async def set_level(self, client: Client) -> None:
        """Bring a client's log level to the backend."""
        if self._speech is not None:
            await self._speech.set_level(client)

    async def subscribe(self, uri: str) -> None:
        """Ask for updates of a resource, now and after each loss."""
        speech = await self._speaking()
        try:
            async with asyncio.timeout(self.backend.timeout_seconds):
                await speech.subscribe(uri)
        except Refused as refused:
            raise Refusal(refused.code, str(refused)) from None
        except TimeoutError:
            raise BackendFailed(
                self.backend.name, "TimedOut", "no answer to a subscription."
            ) from None
        self._uris.add(uri)

    async def unsubscribe(self, uri: str) -> None:
        """Ask for no more updates of a resource."""
        self._uris.discard(uri)
        if self._speech is None:
            return
        try:
            await self._speech.unsubscribe(uri)
        except Refused:
            log.info("the end of a subscription was refused", extra={"backend": self.backend.name})

    async def release(self, client: Client) -> None:
        """End what is kept for a client."""
        if self._speech is not None:
            await self._speech.release(client)


def _untagged(params: Document) -> Document:
    """Return params without the mark of the stream that they came on, which is our own."""
    raw = params.get(_META)
    if raw is None or META_SUBSCRIPTION not in raw:
        return params
    meta = split(raw).without(META_SUBSCRIPTION)
    return params.with_member(_META, meta.join()) if meta.members else params.without(_META)


class _Attendance:
    """One connection of a backend: its stream is held, its lists are kept as new as it says."""

    def __init__(self, owner: SupervisedBackend, speech: Speech) -> None:
        self._owner = owner
        self._speech = speech
        self._stale = set(listing.ALL_LISTS)
        self._bell = asyncio.Event()
        self._heard = asyncio.Event()
        self._has_stream = True

    async def run(self, tried: asyncio.Event, again: asyncio.Event) -> None:
        """Attend until `again` is set; raise BackendFailed when the backend is lost.

        `tried` is set after the first lists.
        """
        failures: list[BackendFailed] = []
        async with asyncio.TaskGroup() as tasks:
            works = [
                tasks.create_task(_noted(self._list(tried), failures)),
                tasks.create_task(_noted(self._listen(), failures)),
                tasks.create_task(_until(again)),
            ]
            await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
            for work in works:
                work.cancel()
        if failures:
            raise failures[0]

    async def _list(self, tried: asyncio.Event) -> None:
        # What changes between a list and the opening of the stream would be missed: the stream goes first.
        await _within(_STREAM_FIRST_SECONDS, self._heard.wait())
        self._heard.set()
        loop, pause = asyncio.get_running_loop(), 0.0
        while True:
            self._bell.clear()
            wanted, self._stale = frozenset(self._stale), set()
            if wanted:
                await self._owner.relist(self._speech, wanted)
            tried.set()
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
                await self._speech.listen(self._hear, self._opened)
            except NoStream:
                self._has_stream = False
                self._heard.set()
                # Where there was a stream before, who knows what was not told since it ended.
                self._ring(listing.ALL_LISTS)
                await asyncio.get_running_loop().create_future()
            except BackendFailed as failure:
                # A balancer that cuts silent streams is no loss of the backend: opening it anew tells.
                if failure.reason != "ConnectionLost":
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


async def _noted(work: Coroutine[None, None, None], failures: list[BackendFailed]) -> None:
    try:
        await work
    except BackendFailed as failure:
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
