from __future__ import annotations

import asyncio

from vmcp.gateway.turns import Turns


async def test_those_who_want_one_key_take_turns_and_others_do_not_wait() -> None:
    turns, log, gate = Turns[str](), list[str](), asyncio.Event()

    async def work(key: str, name: str) -> None:
        async with turns.of(key):
            log.append(f"{name} begins")
            if key == "a":
                await gate.wait()
            log.append(f"{name} ends")

    async with asyncio.TaskGroup() as tasks:
        for key, name in (("a", "1"), ("a", "2"), ("b", "3")):
            tasks.create_task(work(key, name))
            await asyncio.sleep(0)
        gate.set()

    assert log == ["1 begins", "3 begins", "3 ends", "1 ends", "2 begins", "2 ends"]
    assert len(turns) == 0


async def test_who_gives_up_waiting_leaves_the_turns_as_they_were() -> None:
    turns, gate = Turns[str](), asyncio.Event()

    async def hold() -> None:
        async with turns.of("a"):
            await gate.wait()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(hold())
        await asyncio.sleep(0)
        waiting = tasks.create_task(hold())
        await asyncio.sleep(0)
        waiting.cancel()
        gate.set()

    assert len(turns) == 0
