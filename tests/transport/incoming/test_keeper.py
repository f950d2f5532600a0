"""The task that looks after open answers, in time that the test turns."""

from __future__ import annotations

import asyncio

from tests.support.virtual_time import HandClock, in_virtual_time
from tests.transport.incoming.wires import Wire
from vmcp.gateway.deadline import CallCancelled
from vmcp.transport.incoming.answer import HttpAnswer
from vmcp.transport.incoming.keeper import Keeper


class LoopClock(HandClock):
    """The time of the event loop."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class Watched(HttpAnswer):
    """An answer that tells of its client's leaving."""

    left_at: float | None = None

    def left(self) -> None:
        self.left_at = asyncio.get_running_loop().time()


@in_virtual_time
async def test_silence_begins_a_stream_that_is_kept_alive() -> None:
    keeper, wire = Keeper(LoopClock()), Wire()
    answer = HttpAnswer(wire.request(), keeper)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(keeper.run())
        keeper.add(answer)

        await asyncio.sleep(60)

        # After 10 s, then every 15 s.
        assert wire.body == b": keep-alive\n\n" * 4
        await answer.finish(b"1")
        running.cancel()
    assert wire.body.endswith(b"data: 1\n\n")


@in_virtual_time
async def test_a_client_that_leaves_is_noticed_soon() -> None:
    keeper, wire = Keeper(LoopClock()), Wire()
    answer = Watched(wire.request(), keeper)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(keeper.run())
        keeper.add(answer)
        wire.leave()

        await asyncio.sleep(1)

        assert answer.left_at is not None
        assert answer.left_at <= 0.5
        running.cancel()


@in_virtual_time
async def test_a_short_answer_is_never_watched() -> None:
    keeper, wire = Keeper(LoopClock()), Wire()
    answer = Watched(wire.request(), keeper)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(keeper.run())
        keeper.add(answer)
        keeper.remove(answer)
        await asyncio.sleep(1)

        assert answer.left_at is None
        running.cancel()


@in_virtual_time
async def test_who_waits_until_all_are_answered_is_told() -> None:
    keeper = Keeper(LoopClock())
    answers = [HttpAnswer(Wire().request(), keeper) for _ in range(3)]
    for answer in answers:
        keeper.add(answer)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(keeper.emptied())
        for answer in answers:
            await asyncio.sleep(0)
            assert not waiting.done()
            keeper.remove(answer)

    await keeper.emptied()
    assert len(keeper) == 0


@in_virtual_time
async def test_what_ends_all_calls_is_told_to_each_that_nobody_has_ended_before() -> None:
    keeper, why = Keeper(LoopClock()), Exception("the end")
    answer, cancelled = [HttpAnswer(Wire().request(), keeper) for _ in range(2)]
    cancelled.deadline.cancel()
    for each in (answer, cancelled):
        keeper.add(each)

    keeper.end_all(why)

    assert answer.deadline.ended_by is why
    assert isinstance(cancelled.deadline.ended_by, CallCancelled)


@in_virtual_time
async def test_an_answer_that_ends_between_the_look_and_the_comment_harms_nobody() -> None:
    keeper, wire, other = Keeper(LoopClock()), Wire(), Wire()
    answer, patient = HttpAnswer(wire.request(), keeper), HttpAnswer(other.request(), keeper)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(keeper.run())
        keeper.add(answer)
        keeper.add(patient)
        await asyncio.sleep(10.1)
        # Both are due at the next look; this one is finished in the very turn of the loop.
        loop = asyncio.get_running_loop()
        loop.call_at(10.25, lambda: tasks.create_task(answer.finish(b"{}")))
        await asyncio.sleep(20)

        assert not running.done()
        assert other.body.startswith(b": keep-alive")
        running.cancel()


class Broken(Watched):
    """An answer that cannot be kept alive."""

    async def beat(self) -> None:
        raise RuntimeError("the server refuses")


@in_virtual_time
async def test_an_answer_that_cannot_be_kept_alive_takes_no_other_one_with_it() -> None:
    keeper, wire = Keeper(LoopClock()), Wire()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(keeper.run())
        keeper.add(Broken(Wire().request(), keeper))
        keeper.add(HttpAnswer(wire.request(), keeper))

        await asyncio.sleep(11)

        assert wire.body.startswith(b": keep-alive")
        running.cancel()
