"""Calls of stateless clients at sessioned backends, which go on while their client is asked and comes back.

The client's request ends with `input_required`; the backend's call waits here for the request that brings
the answers. Bounded in number and in time.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping

from vmcp.gateway.deadline import CallCancelled, Deadline
from vmcp.gateway.ports import Reply
from vmcp.protocol.call import Answer, Ask, Done, Note
from vmcp.protocol.failures import Failure, StateExpired

log = logging.getLogger(__name__)

_MOST_PARKED = 1000
_LONGEST_SECONDS = 600.0
_ID_BYTES = 16
_NOT_ASKED = Answer(b'{"code":-32603,"message":"The client could not be asked."}', is_error=True)

Carry = Callable[[Reply], Awaitable[Done | Ask]]


class RunningCall:
    """A call that outlives the requests of its client; it is the Reply of all of them, one after the other."""

    def __init__(self, parked: ParkedCalls) -> None:
        # Random, so that nobody guesses another's; it leaves us sealed.
        self.id = secrets.token_urlsafe(_ID_BYTES)
        self.deadline = Deadline()
        self.task: asyncio.Task[None] | None = None
        self._parked = parked
        self._current: Reply | None = None
        self._turns: asyncio.Queue[Ask | Done | Exception] = asyncio.Queue()
        self._one_at_a_time = asyncio.Lock()
        self._answers: asyncio.Future[tuple[Answer, ...]] | None = None
        self._asked: Ask | None = None

    async def run(self, carry: Carry) -> None:
        """Carry the call, and hand its end to whoever waits for it."""
        try:
            self._turns.put_nowait(await carry(self))
        except (Failure, CallCancelled) as end:
            self._turns.put_nowait(end)
        except BaseException:
            self._turns.put_nowait(CallCancelled())
            raise
        finally:
            self._parked.forget(self)

    async def turn(self, reply: Reply) -> Ask | Done:
        """Let a request of the client stand for the call until it asks something, or ends.

        Raise what ended the call, or CallCancelled; a request that is cancelled cancels the call.
        """
        self._current = reply
        try:
            async with reply.deadline.start(None):
                found = await self._turns.get()
        except TimeoutError:
            self.cancel()
            raise CallCancelled from None
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
            if not self._parked.keep(self):
                return tuple(_NOT_ASKED for _ in ask.requests)
            self._answers = asyncio.get_running_loop().create_future()
            self._asked = ask
            self._turns.put_nowait(ask)
            try:
                async with asyncio.timeout(_LONGEST_SECONDS):
                    return await self._answers
            except TimeoutError:
                log.info("a parked call was never resumed")
                self.cancel()
                return tuple(_NOT_ASKED for _ in ask.requests)
            finally:
                self._answers = self._asked = None
                self._parked.forget(self)

    def resume(self, responses: Mapping[str, bytes]) -> Ask | None:
        """Take the client's answers by their keys; return what is still asked where one is missing."""
        asked, answers = self._asked, self._answers
        if asked is None or answers is None or answers.done():
            raise _lost()
        if any(request.key not in responses for request in asked.requests):
            return asked
        answers.set_result(tuple(Answer(responses[request.key]) for request in asked.requests))
        return None


class ParkedCalls:
    """The running calls that wait for their clients, by the ids that are sealed into the requestState."""

    def __init__(self) -> None:
        self._waiting: dict[str, RunningCall] = {}
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

    def start(self, carry: Carry) -> RunningCall:
        """Start a call that may be parked."""
        if self._tasks is None:
            raise RuntimeError("calls are started while this runs")
        running = RunningCall(self)
        running.task = self._tasks.create_task(_quietly(running, carry))
        return running

    def keep(self, call: RunningCall) -> bool:
        """Begin to wait for a call's client; False where too many wait."""
        if len(self._waiting) >= _MOST_PARKED:
            return False
        self._waiting[call.id] = call
        return True

    def forget(self, call: RunningCall) -> None:
        """Wait for a call's client no more."""
        self._waiting.pop(call.id, None)

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
