"""Whatever clients and backends do, in any order: each request gets its one answer, and nothing is left."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.journeys.actors import ERAS, world
from tests.journeys.model import Play
from tests.support.virtual_time import in_virtual_time

# What is drawn more often stands more than once.
ACTIONS = (
    *("open", "call", "call", "call", "note", "ask", "ask", "answer", "answer", "resume"),
    *("resume", "finish", "finish", "cancel", "leave", "come_back", "listen", "watch"),
    *("end", "lose", "die", "change", "settle", "settle", "settle"),
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 11)), max_size=40)

# Longer than a parked call waits, and than a session may be idle after its last call was given up.
_PARKED_SECONDS = 620.0
_IDLE_SECONDS = 2600.0
_NOTICED_SECONDS = 1.0
# What may be left of clients without sessions, for a while.
PARKED = ("parked", "parked calls", "calls at backends")


async def _played(steps: list[tuple[str, int]], *, is_polite: bool) -> None:
    async with world() as here:
        play = Play(here)
        await play.open(0)
        for action, pick in steps:
            await getattr(play, action)(pick)
        await play.settle(1)
        for peer in [*play.peers, play.bare]:
            for exchange in peer.exchanges():
                exchange.leave()
        if is_polite:
            while play.peers:
                await play.end(0)
            await asyncio.sleep(_NOTICED_SECONDS)
            assert not [each for each in here.left() if not each.endswith(PARKED)]
        await asyncio.sleep(_PARKED_SECONDS if is_polite else _IDLE_SECONDS)
        assert here.left() == []
        kept, bare = (set(here.backend(name).released) for name in ERAS)
        assert kept == bare
        assert len(kept) >= len(play.gone)


@given(STEPS)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_each_request_gets_its_answer_and_nothing_is_left_once_all_have_ended(
    steps: list[tuple[str, int]],
) -> None:
    in_virtual_time(_played)(steps, is_polite=True)


@given(STEPS)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_nothing_is_left_of_clients_that_go_without_a_word(steps: list[tuple[str, int]]) -> None:
    in_virtual_time(_played)(steps, is_polite=False)
