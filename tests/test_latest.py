from __future__ import annotations

import asyncio

from vmcp.latest import Latest


async def collect(cell: Latest[int], seen: list[int], until: int) -> None:
    async for value in cell.changes():
        seen.append(value)
        if value == until:
            return


async def test_a_reader_gets_the_present_value_first() -> None:
    cell = Latest(7)

    assert await anext(cell.changes()) == 7


async def test_every_reader_is_woken_and_gets_the_newest_value_alone() -> None:
    cell = Latest(0)
    seen: list[list[int]] = [[], []]
    async with asyncio.TaskGroup() as tasks:
        for each in seen:
            tasks.create_task(collect(cell, each, 3))
        await asyncio.sleep(0)
        for value in (1, 2, 3):
            cell.set(value)

    assert seen == [[0, 3], [0, 3]]


async def test_a_value_that_comes_while_the_reader_works_is_not_missed() -> None:
    cell, seen = Latest(0), list[int]()
    async for value in cell.changes():
        seen.append(value)
        if value == 2:
            break
        cell.set(value + 1)

    assert seen == [0, 1, 2]


def test_an_equal_value_is_skipped() -> None:
    cell = Latest((1, 2))
    first = cell.value

    assert not cell.set((1, 2))
    assert cell.value is first
    assert cell.set((3,))


async def test_a_renewed_value_wakes_readers_without_being_compared() -> None:
    cell, seen = Latest([0]), list[list[int]]()

    async def read() -> None:
        async for value in cell.changes():
            seen.append(value)
            if len(seen) == 2:
                return

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        await asyncio.sleep(0)
        cell.renew([0])

    assert seen == [[0], [0]]


async def test_a_reader_that_is_cancelled_leaves_nothing_behind() -> None:
    cell = Latest(0)
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(collect(cell, [], 1))
        await asyncio.sleep(0)
        reading.cancel()

    assert not cell._waiters
