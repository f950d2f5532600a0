"""Calls of stateless clients at sessioned backends, which go on while their client is asked and comes back.

The client's request ends with `input_required`; the backend's call waits here for the request that brings
the answers. Bounded in number and in time.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from vmcp.gateway.deadline import CallCancelled, Deadline
from vmcp.gateway.ports import Reply
from vmcp.protocol.call import Answer, Ask, Call, Done, Note
from vmcp.protocol.declared import NOT_DECLARED, may_be_asked
from vmcp.protocol.failures import Failure, StateExpired

log = logging.getLogger(__name__)

_MOST_PARKED = 1000
_MOST_BYTES = 64 * 2**20
_LONGEST_SECONDS = 600.0
_ID_BYTES = 16
_NOT_ASKED = Answer(b'{"code":-32603,"message":"The client could not be asked."}', is_error=True)

Carry = Callable[[Reply], Awaitable[Done | Ask]]


class Busy(Protocol):
    """What counts the calls that are under way at a backend."""

    calls: int


class RunningCall:
    """A call that outlives the requests of its client; it is the Reply of all of them, one after the other.

    `id` names what it asks now, anew for each time: an answer given twice finds nothing.
    """

    def __init__(self, parked: ParkedCalls, call: Call, busy: Busy) -> None:
        self.id = ""
        self.deadline = Deadline()
        self.task: asyncio.Task[None] | None = None
        self._parked = parked
        self._call = call
        self._busy = busy
        self._current: Reply | None = None
        self._turns: asyncio.Queue[Ask | Done | Exception] = asyncio.Queue()
        self._one_at_a_time = asyncio.Lock()
        # What it was asked with stays until its end.
        self.size = sum([len(key) + len(value) for key, value in call.params.members])
        self._answers: asyncio.Future[tuple[Answer, ...]] | None = None
        self._asked: Ask | None = None

    async def run(self, carry: Carry) -> None:
        """Carry the call, and hand its end to whoever waits for it."""
        try:
            self._turns.put_nowait(await carry(self))
        except (Failure, CallCancelled) as end:
            self._turns.put_nowait(end)
        except Exception as fault:
            self._turns.put_nowait(fault)
            raise
        except BaseException:
            self._turns.put_nowait(CallCancelled())
            raise

    async def turn(self, reply: Reply) -> Ask | Done:
        """Let a request of the client stand for the call until it asks something, or ends.

        Raise what ended the call, or the request; a request that is ended cancels the call.
        """
        self._current = reply
        try:
            async with reply.deadline.start(None):
                found = await self._turns.get()
        except TimeoutError:
            self.cancel()
            raise reply.deadline.ended_by or CallCancelled() from None
        except asyncio.CancelledError:
            self.cancel()
            raise
        finally:
            self._current = None
        if isinstance(found, Exception):
            raise found
        return found

    def cancel(self) -> None:
        """Cancel the call at its backend."""
        self.deadline.cancel()

    # The Reply that the backend's client speaks to.

    async def note(self, note: Note) -> None:
        """Pass a notification to the request that stands for the call now; while none does, it is lost."""
        if self._current is not None:
            await self._current.note(note)

    async def ask(self, ask: Ask) -> tuple[Answer, ...]:
        """Park the call until a request brings the answers; without them in time, the call is cancelled."""
        async with self._one_at_a_time:
            if not self._may_be_asked(ask):
                return tuple(NOT_DECLARED for _ in ask.requests)
            with self._waiting(ask) as answers:
                if answers is None:
                    return tuple(_NOT_ASKED for _ in ask.requests)
                self._turns.put_nowait(ask)
                return await self._answered(answers)

    def _may_be_asked(self, ask: Ask) -> bool:
        declared = self._call.client.capabilities
        return all(may_be_asked(declared, each.method, each.params) for each in ask.requests)

    @contextmanager
    def _waiting(self, ask: Ask) -> Iterator[asyncio.Future[tuple[Answer, ...]] | None]:
        """Wait under an id of its own, not counted as under way; None where too many wait."""
        # Random, so that nobody guesses another's; it leaves us sealed.
        self.id = secrets.token_urlsafe(_ID_BYTES)
        if not self._parked.keep(self):
            yield None
            return
        self._asked, self._answers = ask, asyncio.get_running_loop().create_future()
        self._busy.calls -= 1
        try:
            yield self._answers
        finally:
            self._busy.calls += 1
            self._asked = self._answers = None
            self._parked.forget(self)

    async def _answered(self, answers: asyncio.Future[tuple[Answer, ...]]) -> tuple[Answer, ...]:
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                return await answers
        except TimeoutError:
            log.info("a parked call was never resumed")
            self.cancel()
            # The deadline ends this wait; what is parked gets no answer of ours.
            never: asyncio.Future[tuple[Answer, ...]] = asyncio.get_running_loop().create_future()
            return await never

    def resume(self, call: Call, responses: Mapping[str, bytes]) -> Ask | None:
        """Take the answers that a request brings, by their keys, and let it stand for the call from now on.

        Return what is still asked where an answer is missing.
        """
        asked, answers = self._asked, self._answers
        if asked is None or answers is None or answers.done():
            raise _lost()
        if any(request.key not in responses for request in asked.requests):
            return asked
        self._parked.forget(self)
        self._stand_in(call)
        answers.set_result(tuple(Answer(responses[request.key]) for request in asked.requests))
        return None

    def _stand_in(self, call: Call) -> None:
        """Give the notes that come from now on the token and the log level of another request."""
        self._call.progress_token = call.progress_token
        self._call.client.log_level = call.client.log_level


class ParkedCalls:
    """The running calls that wait for their clients, by the ids that are sealed into the requestState."""

    def __init__(self) -> None:
        self._waiting: dict[str, RunningCall] = {}
        self._most_bytes = _MOST_BYTES
        self._bytes = 0
        self._tasks: asyncio.TaskGroup | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    async def run(self) -> None:
        """Own the tasks of the calls until cancelled; then they are cancelled too."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._tasks = None

    def start(self, call: Call, busy: Busy, carry: Carry) -> RunningCall:
        """Start a call that may be parked; while it is, `busy` does not count it."""
        if self._tasks is None:
            raise RuntimeError("calls are started while this runs")
        running = RunningCall(self, call, busy)
        running.task = self._tasks.create_task(_quietly(running, carry))
        return running

    def keep(self, call: RunningCall) -> bool:
        """Begin to wait for a call's client; False where too many wait."""
        if len(self._waiting) >= _MOST_PARKED or self._bytes + call.size > self._most_bytes:
            return False
        self._waiting[call.id] = call
        self._bytes += call.size
        return True

    def forget(self, call: RunningCall) -> None:
        """Wait for a call's client no more."""
        if self._waiting.pop(call.id, None) is not None:
            self._bytes -= call.size

    def find(self, identity: str) -> RunningCall:
        """Return the call that waits under an id; raise StateExpired where it waits no more."""
        call = self._waiting.get(identity)
        if call is None:
            raise _lost()
        return call


async def _quietly(running: RunningCall, carry: Carry) -> None:
    try:
        await running.run(carry)
    except Exception:
        # Its client is told; the other calls must not fall with it.
        log.exception("a call failed")


def _lost() -> StateExpired:
    return StateExpired("The call that this requestState belongs to waits no more; start it anew.")
