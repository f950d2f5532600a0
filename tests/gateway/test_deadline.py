from __future__ import annotations

import asyncio

import pytest

from tests.support.virtual_time import in_virtual_time
from vmcp.gateway.deadline import Deadline


async def body(deadline: Deadline, seconds: float, needs: float) -> float:
    """Run a body that needs some time under a deadline, and return when it ended."""
    try:
        async with deadline.start(seconds):
            await asyncio.sleep(needs)
    except TimeoutError:
        pass
    return asyncio.get_running_loop().time()


@in_virtual_time
async def test_a_body_that_is_quick_enough_is_left_alone() -> None:
    deadline = Deadline()

    assert await body(deadline, 10, 9) == 9
    assert not deadline.is_cancelled


@in_virtual_time
async def test_a_body_that_takes_too_long_is_ended() -> None:
    deadline = Deadline()

    with pytest.raises(TimeoutError):
        async with deadline.start(10):
            await asyncio.sleep(60)

    assert asyncio.get_running_loop().time() == 10
    assert not deadline.is_cancelled


@in_virtual_time
async def test_a_cancellation_ends_the_body_now_and_is_told() -> None:
    deadline = Deadline()
    asyncio.get_running_loop().call_at(3, deadline.cancel)

    with pytest.raises(TimeoutError):
        async with deadline.start(10):
            await asyncio.sleep(60)

    assert asyncio.get_running_loop().time() == 3
    assert deadline.is_cancelled


@in_virtual_time
async def test_a_body_that_was_cancelled_before_it_began_ends_at_once() -> None:
    deadline = Deadline()
    deadline.cancel()

    assert await body(deadline, 10, 60) == 0


@in_virtual_time
async def test_time_that_is_paused_does_not_count() -> None:
    loop, deadline = asyncio.get_running_loop(), Deadline()
    loop.call_at(4, deadline.pause)
    loop.call_at(100, deadline.resume)

    # 6 of 10 seconds remain.
    assert await body(deadline, 10, 1000) == 106


@in_virtual_time
async def test_pauses_nest() -> None:
    loop, deadline = asyncio.get_running_loop(), Deadline()
    for when in (4, 6):
        loop.call_at(when, deadline.pause)
    for when in (20, 100):
        loop.call_at(when, deadline.resume)

    assert await body(deadline, 10, 1000) == 106


@in_virtual_time
async def test_a_cancellation_does_not_wait_for_a_pause() -> None:
    loop, deadline = asyncio.get_running_loop(), Deadline()
    loop.call_at(4, deadline.pause)
    loop.call_at(50, deadline.cancel)
    loop.call_at(60, deadline.resume)

    assert await body(deadline, 10, 1000) == 50
    assert deadline.is_cancelled


@in_virtual_time
async def test_what_comes_after_the_end_changes_nothing() -> None:
    deadline = Deadline()
    await body(deadline, 10, 1)

    deadline.pause()
    deadline.resume()
    deadline.cancel()

    assert await body(Deadline(), 5, 1) == 2


@in_virtual_time
async def test_a_cancellation_from_outside_passes() -> None:
    deadline = Deadline()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(body(deadline, 10, 60))
        await asyncio.sleep(1)
        task.cancel()

    assert task.cancelled()
    assert not deadline.is_cancelled


async def test_a_deadline_without_a_time_bounds_nothing() -> None:
    with pytest.raises(RuntimeError):
        async with Deadline():
            pytest.fail("the body ran")
