"""Calls that wait for their clients: bounded in number and time, each answered once, none kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.gateway.builders import OK, FakeReply, call_of, request_client
from tests.support.virtual_time import in_virtual_time
from vmcp.gateway.deadline import CallCancelled
from vmcp.gateway.parked import Busy, ParkedCalls, RunningCall
from vmcp.gateway.ports import Reply
from vmcp.protocol.call import Ask, Call, Done, Live, Note, Request
from vmcp.protocol.failures import BackendFailed, StateExpired

ABLE = b'{"elicitation":{},"roots":{}}'
FORM = Ask((Request("1", "elicitation/create", b"{}"),), Live())
SAMPLING = Ask((Request("1", "sampling/createMessage", b"{}"),), Live())
ACCEPTED = b'{"action":"accept"}'


class Counted:
    """A backend that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0


async def asking(reply: Reply) -> Done:
    """Ask once, and end with what was said."""
    (answer,) = await reply.ask(FORM)
    return Done(answer.payload, is_error=answer.is_error)


@asynccontextmanager
async def serving() -> AsyncIterator[ParkedCalls]:
    parked = ParkedCalls()
    async with asyncio.TaskGroup() as tasks:
        work = tasks.create_task(parked.run())
        await asyncio.sleep(0)
        yield parked
        work.cancel()


def wanted(token: bytes | None = None, level: str | None = None) -> Call:
    call = call_of("tools/call", request_client(capabilities=ABLE, log_level=level), name="t")
    call.progress_token = token
    return call


def start(parked: ParkedCalls, carry=asking, busy: Busy | None = None) -> RunningCall:  # type: ignore[no-untyped-def]
    async def bounded(reply: Reply) -> Done | Ask:
        try:
            async with reply.deadline.start(30):
                end: Done | Ask = await carry(reply)
                return end
        except TimeoutError:
            raise CallCancelled from None

    return parked.start(wanted(), busy or Counted(), bounded)


@in_virtual_time
async def test_a_call_that_asks_is_parked_until_a_request_brings_the_answers() -> None:
    async with serving() as parked:
        running = start(parked)
        asked = await running.turn(FakeReply())
        assert (asked, len(parked)) == (FORM, 1)

        assert parked.find(running.id).resume(wanted(), {"1": ACCEPTED}) is None

        assert await running.turn(FakeReply()) == Done(ACCEPTED)
        assert len(parked) == 0


@in_virtual_time
async def test_a_call_that_asks_nothing_is_never_parked() -> None:
    async def at_once(_: Reply) -> Done:
        return OK

    async with serving() as parked:
        assert await start(parked, at_once).turn(FakeReply()) == OK
        assert len(parked) == 0


@in_virtual_time
async def test_a_parked_call_is_not_counted_while_it_waits() -> None:
    busy = Counted()
    busy.calls = 1
    async with serving() as parked:
        running = start(parked, busy=busy)
        await running.turn(FakeReply())
        assert busy.calls == 0

        running.resume(wanted(), {"1": ACCEPTED})
        await running.turn(FakeReply())

        assert busy.calls == 1


@in_virtual_time
async def test_an_answer_given_twice_is_refused() -> None:
    async with serving() as parked:
        running = start(parked)
        await running.turn(FakeReply())
        running.resume(wanted(), {"1": ACCEPTED})

        with pytest.raises(StateExpired):
            running.resume(wanted(), {"1": ACCEPTED})
        with pytest.raises(StateExpired):
            parked.find(running.id)

        await running.turn(FakeReply())


@in_virtual_time
async def test_each_question_of_a_call_has_an_id_of_its_own() -> None:
    async def twice(reply: Reply) -> Done:
        await reply.ask(FORM)
        return await asking(reply)

    async with serving() as parked:
        running = start(parked, twice)
        await running.turn(FakeReply())
        first = running.id
        running.resume(wanted(), {"1": ACCEPTED})
        await running.turn(FakeReply())

        with pytest.raises(StateExpired):
            parked.find(first)

        assert parked.find(running.id) is running
        running.cancel()


@in_virtual_time
async def test_two_questions_at_once_are_put_one_after_the_other() -> None:
    async def both(reply: Reply) -> Done:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(reply.ask(FORM))
            tasks.create_task(reply.ask(FORM))
        return OK

    async with serving() as parked:
        running = start(parked, both)
        for _ in range(2):
            assert await running.turn(FakeReply()) == FORM
            assert len(parked) == 1
            running.resume(wanted(), {"1": ACCEPTED})

        assert await running.turn(FakeReply()) == OK


@in_virtual_time
async def test_what_is_not_answered_is_asked_again() -> None:
    async with serving() as parked:
        running = start(parked)
        await running.turn(FakeReply())

        assert running.resume(wanted(), {"other": ACCEPTED}) == FORM

        assert parked.find(running.id) is running
        running.cancel()


@in_virtual_time
async def test_a_call_whose_client_never_comes_back_is_cancelled_in_time() -> None:
    ended = asyncio.Event()

    async def cancelled(reply: Reply) -> Done:
        try:
            return await asking(reply)
        finally:
            ended.set()

    async with serving() as parked:
        running = start(parked, cancelled)
        await running.turn(FakeReply())
        running.deadline.pause()
        before = asyncio.get_running_loop().time()

        await ended.wait()

        assert asyncio.get_running_loop().time() - before == pytest.approx(600)
        assert len(parked) == 0


@in_virtual_time
async def test_only_so_many_calls_are_parked_and_the_next_one_goes_on_without_an_answer() -> None:
    async with serving() as parked:
        calls = [start(parked) for _ in range(1000)]
        for each in calls:
            await each.turn(FakeReply())
        assert len(parked) == 1000

        end = await start(parked).turn(FakeReply())

        assert isinstance(end, Done)
        assert end.is_error
        for each in calls:
            each.cancel()


@in_virtual_time
async def test_a_client_is_not_asked_what_it_did_not_declare() -> None:
    async def samples(reply: Reply) -> Done:
        (answer,) = await reply.ask(SAMPLING)
        return Done(answer.payload, is_error=answer.is_error)

    async with serving() as parked:
        end = await start(parked, samples).turn(FakeReply())

        assert isinstance(end, Done)
        assert b"-32601" in end.payload


@in_virtual_time
async def test_notes_go_to_the_request_that_stands_for_the_call() -> None:
    async def notes(reply: Reply) -> Done:
        await reply.note(Note("first", None))
        answer = await asking(reply)
        await reply.note(Note("second", None))
        return answer

    async with serving() as parked:
        running = start(parked, notes)
        before, after = FakeReply(), FakeReply()
        await running.turn(before)
        running.resume(wanted(b'"new"', "error"), {"1": ACCEPTED})
        await running.turn(after)

        assert [note.method for note in before.notes] == ["first"]
        assert [note.method for note in after.notes] == ["second"]
        assert running._call.progress_token == b'"new"'
        assert running._call.client.log_level == "error"


@in_virtual_time
async def test_a_request_that_is_cancelled_cancels_the_call() -> None:
    async with serving() as parked:
        running = start(parked)
        await running.turn(FakeReply())
        running.resume(wanted(), {"1": ACCEPTED})
        gone = FakeReply()
        gone.deadline.cancel()

        with pytest.raises(CallCancelled):
            await running.turn(gone)


@in_virtual_time
async def test_a_failure_of_the_backend_ends_the_request_that_stands_for_the_call() -> None:
    async def fails(_: Reply) -> Done:
        raise BackendFailed("a", "Unreachable", "it is gone.")

    async with serving() as parked:
        with pytest.raises(BackendFailed):
            await start(parked, fails).turn(FakeReply())


@in_virtual_time
async def test_a_fault_of_ours_reaches_the_request_and_no_other_call() -> None:
    async def breaks(_: Reply) -> Done:
        raise ZeroDivisionError

    async with serving() as parked:
        other = start(parked)
        await other.turn(FakeReply())

        with pytest.raises(ZeroDivisionError):
            await start(parked, breaks).turn(FakeReply())

        assert parked.find(other.id) is other
        other.cancel()


@in_virtual_time
async def test_the_end_of_the_gateway_ends_all_parked_calls() -> None:
    async with serving() as parked:
        running = start(parked)
        await running.turn(FakeReply())

    assert running.task is not None
    assert running.task.done()
    assert len(parked) == 0
