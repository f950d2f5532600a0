from __future__ import annotations

import asyncio

from tests.support.virtual_time import VirtualLoop, in_virtual_time
from vmcp.gateway.lag import Lag


@in_virtual_time
async def test_a_loop_that_is_held_up_shows_by_how_much() -> None:
    lag = Lag()
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)

    def hold() -> None:
        loop.jump(0.3)

    async with asyncio.TaskGroup() as tasks:
        measuring = tasks.create_task(lag.run())
        # Just before the second measurement is due.
        loop.call_later(0.95, hold)
        await asyncio.sleep(2.0)
        measuring.cancel()

    counts, total = lag.value
    assert sum(counts) >= 3
    assert 0.2 < total < 0.3
    # One sleep was 0.25 s too long; the rest were not.
    assert counts[0] == sum(counts) - 1
