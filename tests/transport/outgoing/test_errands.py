"""What is done although nobody waits for it."""

from __future__ import annotations

import asyncio

from tests.support.waiting import Journal, moment
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
