"""What is done although nobody waits for it."""

from __future__ import annotations

import asyncio

from tests.support.virtual_time import in_virtual_time
from tests.support.waiting import Journal, moment
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.errands import Errands


async def forever(ends: Journal[str], name: str) -> None:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        ends.add(name)


async def test_what_is_kept_ends_with_the_rest() -> None:
    errands, ends = Errands(), Journal[str]()

    async with errands.running():
        errands.keep(forever(ends, "a"))
        await moment()
        assert not ends.all

    assert ends.all == ["a"]


async def test_what_is_kept_can_be_ended_before() -> None:
    errands, ends = Errands(), Journal[str]()

    async with errands.running():
        kept = errands.keep(forever(ends, "a"))
        errands.keep(forever(ends, "b"))
        await moment()
        assert kept is not None
        kept.cancel()
        await asyncio.wait((kept,))

        assert ends.all == ["a"]


async def test_what_fails_harms_nothing_else() -> None:
    async def fails() -> None:
        raise ValueError

    errands, ends = Errands(), Journal[str]()

    async with errands.running():
        errands.keep(forever(ends, "a"))
        errands.keep(fails())
        await moment()
        assert not ends.all


async def test_what_has_not_begun_can_be_ended() -> None:
    errands, ends = Errands(), Journal[str]()

    async with errands.running():
        kept = errands.keep(forever(ends, "a"))
        assert kept is not None
        kept.cancel()

    assert not ends.all


async def test_nothing_is_kept_when_it_is_too_late() -> None:
    errands, ends = Errands(), Journal[str]()
    async with errands.running():
        pass

    assert errands.keep(forever(ends, "a")) is None


async def keep(errands: Errands, started: asyncio.Event) -> None:
    """Take errands until cancelled, as the keeper of a backend does."""
    async with errands.running():
        started.set()
        await asyncio.get_running_loop().create_future()


class Work:
    """Errands that tell what became of them."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def take(self, seconds: float, name: str) -> None:
        await asyncio.sleep(seconds)
        self.done.append(name)

    async def fail(self) -> None:
        raise BackendFailed("a", "Unreachable", "gone.")


@in_virtual_time
async def test_an_errand_is_done_without_anybody_waiting() -> None:
    errands, work = Errands(), Work()
    async with errands.running():
        errands.start(work.take(1, "one"))
        assert (work.done, len(errands)) == ([], 1)

        await asyncio.sleep(2)

        assert (work.done, len(errands)) == (["one"], 0)


@in_virtual_time
async def test_an_errand_that_fails_or_hangs_harms_no_other() -> None:
    errands, work = Errands(), Work()
    async with errands.running():
        errands.start(work.fail())
        errands.start(work.take(60, "slow"))
        errands.start(work.take(1, "one"))

    assert work.done == ["one"]
    assert asyncio.get_running_loop().time() == 5


@in_virtual_time
async def test_errands_under_way_are_finished_when_their_owner_is_cancelled() -> None:
    errands, work, started = Errands(), Work(), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(keep(errands, started))
        await started.wait()
        errands.start(work.take(2, "farewell"))
        await asyncio.sleep(1)

        keeping.cancel()
        await asyncio.wait((keeping,))

        assert work.done == ["farewell"]
        assert keeping.cancelled()


@in_virtual_time
async def test_an_errand_that_may_take_long_does_not_hold_up_the_end() -> None:
    errands, work = Errands(), Work()
    async with errands.running():
        errands.start(work.take(50, "slow"), 60)
        errands.start(work.take(100, "too slow"), 60)
        await asyncio.sleep(55)
        assert work.done == ["slow"]
        errands.start(work.take(50, "late"), 60)

    assert work.done == ["slow"]
    assert asyncio.get_running_loop().time() == 60


@in_virtual_time
async def test_after_the_end_errands_are_dropped() -> None:
    errands, work = Errands(), Work()
    async with errands.running():
        pass

    was_taken = errands.start(work.take(0, "late"))
    await asyncio.sleep(1)

    assert not was_taken
    assert work.done == []
