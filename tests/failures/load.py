"""Clients of both eras that call without a pause and write down what became of every call."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from benchmarks.client import Client, WrongAnswer, check_echo, result_of
from benchmarks.wire import Answer, Lost

ERAS = ("sessioned", "stateless")
PATIENCE_SECONDS = 30.0


class End(Enum):
    """What became of a call."""

    ANSWERED = "answered"
    # With 503: it was never begun.
    REFUSED = "refused"
    # Without any answer.
    LOST = "lost"
    WRONG = "wrong"


@dataclass(slots=True)
class Journal:
    """The ends of all calls by their words, which no two calls share."""

    ends: dict[str, End] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def count(self, end: End) -> int:
        """Return how many calls ended like this."""
        return sum(each is end for each in self.ends.values())


class Load:
    """Some clients of each era, each on a connection of its own."""

    def __init__(self, tools: Sequence[str], clients: int) -> None:
        self.journal = Journal()
        self._tools = tools
        self._count = clients
        self._numbers = itertools.count()

    async def run(self, url: str) -> None:
        """Call until the connections are closed."""
        pairs = itertools.product(range(self._count), ERAS, self._tools)
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
            for _, era, tool in pairs:
                client = await Client.connect(url, era)
                await client.open()
                tasks.create_task(self._call_on(client, tool))

    async def _call_on(self, client: Client, tool: str) -> None:
        try:
            while await self._call(client, tool):
                pass
        finally:
            client.connection.close()

    async def _call(self, client: Client, tool: str) -> bool:
        """Call once; tell whether the connection lives on."""
        words = f"call {next(self._numbers)}"
        arguments = {"text": words}
        # Every third one has progress, and so a stream.
        meta = {"_meta": {"progressToken": words}} if hash(words) % 3 == 0 else {}
        params: dict[str, Any] = {"name": tool, "arguments": arguments, **meta}
        try:
            answer = await client.connection.fetch(client.request("tools/call", params, tool))
        except Lost:
            self.journal.ends[words] = End.LOST
            return False
        self.journal.ends[words] = self._judged(answer, client, words)
        return True

    def _judged(self, answer: Answer, client: Client, words: str) -> End:
        if answer.status == 503:
            return End.REFUSED
        try:
            check_echo(result_of(answer, client.last_id), words, 0)
        except WrongAnswer as wrong:
            self.journal.faults.append(f"{words}: {wrong}: {answer}")
            return End.WRONG
        return End.ANSWERED
