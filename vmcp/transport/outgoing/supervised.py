"""Keep one backend: connect, list, listen, and again after a loss; carry calls meanwhile."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress

from vmcp.gateway.ports import BackendClient, Findings, Reply
from vmcp.gateway.vitals import LONGEST_SPARING_SECONDS
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.document import Document
from vmcp.model.health import Stage, State
from vmcp.model.inventory import Inventory
from vmcp.protocol.call import Ask, Call, Client, Done
from vmcp.protocol.document import MalformedJson, quote, split, unquote
from vmcp.protocol.failures import BackendFailed, Refusal
from vmcp.protocol.jsonrpc import Notification
from vmcp.protocol.methods import META_SUBSCRIPTION
from vmcp.transport.outgoing import listing
from vmcp.transport.outgoing.attendance import Attendance, ConnectionGivenUp
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.silence import Silence
from vmcp.transport.outgoing.speech import EraContradicted, Refused, Speech

log = logging.getLogger(__name__)

_FIRST_WAIT = 1.0
_LONGEST_WAIT = 60.0
# A connection that held this long was a good one: the next loss starts with the shortest wait.
_GOOD_SECONDS = 60.0
# After one that held this long it is opened again at once; one that ends sooner may end again and again.
_HELD_SECONDS = 5.0
# Calls to a server that was never reached have it tried before its turn, but not more often than this,
_LEAST_BETWEEN_ATTEMPTS = 0.5
# and wait for how that goes no longer than this.
_CALL_WAITS_SECONDS = 2.0
# A check that fails so leaves the connection as it is: that it would be better on a new one is not said.
_NO_LOSS = frozenset(("TimedOut", "Overloaded", "Unauthorized"))
# A call that fails so says that the connection may be gone.
_SUSPICIOUS = frozenset(("Unreachable", "ConnectionLost", "TlsFailed", "SessionLost"))
_OPENING = (Stage.INITIALIZE, Stage.DISCOVER, None)
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
        self._vitals = findings.vitals(backend.key)
        self._attendance: Attendance | None = None
        self._calls = 0
        # Whether a call has gone unanswered since the last one that was answered.
        self._is_silent = False
        self._speech: Speech | None = None
        self._tried = asyncio.Event()
        self._again = asyncio.Event()
        self._known: Inventory | None = None
        self._uris: set[str] = set()
        self._has_listened = False
        self._is_waiting = False
        # Until when calls cause no attempt.
        self._rests_until = 0.0
        # What the last attempt failed for.
        self._why = ""
        self._attended_at: float | None = None

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
        self._findings = Silence(self._vitals)

    async def run(self) -> None:
        """Keep the connection until cancelled."""
        async with self._errands.running():
            try:
                await self._keep()
            finally:
                if self._speech is not None:
                    self._speech.forget_clients()

    async def _keep(self) -> None:
        wait = _FIRST_WAIT
        while True:
            self._attended_at = None
            wished = await self._attempt()
            if self._again.is_set():
                self._again.clear()
                continue
            self._tried.set()
            held = self._held_seconds()
            wait = _FIRST_WAIT if held > _GOOD_SECONDS else wait
            self._rests_until = asyncio.get_running_loop().time() + max(
                wished, _LEAST_BETWEEN_ATTEMPTS
            )
            if held > _HELD_SECONDS and self._is_remote:
                await self._pause(wished)
            elif await self._pause(max(wait * random.uniform(0.9, 1.1), wished)):
                wait = min(wait * 2, self._longest_wait())

    @property
    def _is_remote(self) -> bool:
        return isinstance(self.backend.endpoint, HttpEndpoint)

    def _longest_wait(self) -> float:
        """Return how far off the next attempt may be: it is the check of a server, and costly for a process."""
        if not self._is_remote:
            return _LONGEST_WAIT
        return min(_LONGEST_WAIT, max(_FIRST_WAIT, self._vitals.rules.value.interval_seconds))

    async def _pause(self, seconds: float) -> bool:
        """Wait before the next attempt, and return whether to the end: a call may want to know how it is now."""
        self._is_waiting = True
        try:
            async with asyncio.timeout(seconds):
                await self._again.wait()
        except TimeoutError:
            return True
        finally:
            self._is_waiting = False
        self._again.clear()
        return False

    async def _attempt(self) -> float:
        """Connect and attend until that ends; return for how long the backend wishes to be left alone."""
        try:
            async with self._connect() as speech:
                speech.retune(self.backend)
                self._speech = speech
                await self._attend(speech)
        except BackendFailed as failure:
            self._lost(failure)
            return min(failure.retry_after_seconds, LONGEST_SPARING_SECONDS)
        except EraContradicted as error:
            if self._attended_at is not None:
                # There is another server now where there was one: that is no failure.
                self._again.set()
            else:
                self._lost(BackendFailed(self.backend.name, "NotMcp", f"{error}."))
        except TimeoutError:
            self._lost(BackendFailed(self.backend.name, "TimedOut", "no answer in time."))
        except ConnectionGivenUp:
            pass
        finally:
            self._attendance = None
        return 0.0

    def _held_seconds(self) -> float:
        """Return for how long the connection has been of use."""
        if self._attended_at is None:
            return 0.0
        return asyncio.get_running_loop().time() - self._attended_at

    def _lost(self, failure: BackendFailed) -> None:
        if failure.reason == "SessionLost" and self._held_seconds() > _HELD_SECONDS:
            # It may do so, and it does when it is started anew: what it is now shows when it is opened again.
            log.info("backend has ended our session", extra={"backend": self.backend.name})
            return
        self._why = failure.message.removeprefix(f"Backend '{self.backend.name}': ")
        stage = failure.stage
        if stage in _OPENING:
            by_reason = {"Unreachable": Stage.CONNECT, "TlsFailed": Stage.TLS}
            stage = by_reason.get(failure.reason, stage or Stage.INITIALIZE)
        self._findings.failed(self.backend.key, stage, failure)

    async def _attend(self, speech: Speech) -> None:
        self._attended_at = asyncio.get_running_loop().time()
        self._attendance = Attendance(self, speech, self._vitals)
        for uri in sorted(self._uris):
            await self._subscribe_again(speech, uri)
        await self._attendance.run(self._tried, self._again)

    async def check(self, speech: Speech) -> None:
        """Check that the backend answers and report it; raise where it is to be connected anew."""
        seconds = self._vitals.rules.value.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                await speech.probe()
        except TimeoutError:
            message = f"no answer to a check within {seconds:g} s."
            failure = BackendFailed(self.backend.name, "TimedOut", message)
        except BackendFailed as error:
            failure = error
        else:
            self._findings.checked(self.backend.key)
            return
        self._unanswered(failure)

    def _unanswered(self, failure: BackendFailed) -> None:
        failure.stage = Stage.PROBE
        if failure.reason not in _NO_LOSS:
            raise failure
        if failure.reason == "TimedOut" and self._is_busy:
            self._vitals.postpone()
            return
        self._findings.failed(self.backend.key, Stage.PROBE, failure)
        if self._vitals.state is State.UNHEALTHY:
            raise ConnectionGivenUp

    @property
    def _is_busy(self) -> bool:
        """Whether silence may be that of a process that does one thing at a time and is at it."""
        return not self._is_remote and self._calls > 0 and not self._is_silent

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
            await self._how_it_goes()
        if self._speech is None:
            message = f"it is not connected: {self._why}" if self._why else "it is not connected."
            raise BackendFailed(self.backend.name, "Unreachable", message)
        return self._speech

    async def _how_it_goes(self) -> None:
        """Wait for the attempt to connect that runs, or have another one made: the server may be back by now."""
        is_due = asyncio.get_running_loop().time() >= self._rests_until
        if self._is_remote and self._is_waiting and is_due:
            self._tried.clear()
            self._again.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CALL_WAITS_SECONDS if self._why else None):
                await self._tried.wait()

    async def call(self, call: Call, reply: Reply) -> Done | Ask:
        """Carry a call; where the backend has changed its era it is connected anew, once."""
        speech = await self._speaking()
        try:
            end = await self._watched(speech, call, reply)
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

    async def _watched(self, speech: Speech, call: Call, reply: Reply) -> Done | Ask:
        """Carry a call and draw from its end what it says of the connection."""
        self._calls += 1
        try:
            end = await speech.call(call, reply)
        except BackendFailed as failure:
            if failure.reason in _SUSPICIOUS and self._attendance is not None:
                self._attendance.suspect()
            raise
        except asyncio.CancelledError:
            self._is_silent = not reply.deadline.is_cancelled
            raise
        finally:
            self._calls -= 1
        self._is_silent = False
        return end

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
