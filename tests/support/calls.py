"""Clients that call tools all the time, of which no call may fail whatever happens elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle

import aiohttp

from tests.support.clients import Client, named, sessioned, stateless
from tests.support.waiting import moment

_BETWEEN = 4


class Calls:
    """How many calls were answered, and what was wrong with the others."""

    def __init__(self) -> None:
        self.answered = 0
        self.faults: list[str] = []
        self.longest_seconds = 0.0
        self._is_over = False

    def stop(self) -> None:
        """Let each client end with the call that it makes now."""
        self._is_over = True

    async def run(self, caller: Client, tools: Sequence[str]) -> None:
        """Call one tool after the other, over one session where there are sessions."""
        loop = asyncio.get_running_loop()
        for name in cycle(tools):
            if self._is_over:
                return
            began = loop.time()
            try:
                message = await (await caller.request("tools/call", named(name))).end()
            except (aiohttp.ClientError, OSError, TimeoutError, AssertionError) as error:
                self.faults.append(f"{name}: {error!r}")
                continue
            finally:
                self.longest_seconds = max(self.longest_seconds, loop.time() - began)
            if "result" in message:
                self.answered += 1
            else:
                self.faults.append(f"{name}: {message}")
            # Nobody looks at them again.
            caller._answers.clear()
            for _ in range(_BETWEEN):
                await moment()


@asynccontextmanager
async def calling(url: str, tools: Sequence[str]) -> AsyncIterator[Calls]:
    """Call tools for the block with a client of each era; fail with it if a call fails."""
    calls = Calls()
    async with AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(each(url)) for each in (sessioned, stateless)]
        async with asyncio.TaskGroup() as tasks:
            for caller in callers:
                tasks.create_task(calls.run(caller, tools))
            try:
                yield calls
            finally:
                calls.stop()
    assert not calls.faults, calls.faults[:5]
    assert calls.answered
