"""Large answers that are on their way share the memory; one that finds no room ends and gives its own back."""

from __future__ import annotations

import asyncio

import pytest

from tests.net.calls import call
from tests.net.raw import OK, answer, once, serve, serving
from tests.support.waiting import until
from vmcp.net.budget import Budget, TooMuchAtOnce
from vmcp.net.client import HttpClient

MEGABYTE = 2**20
LARGE = 4 * MEGABYTE


def test_no_more_is_held_than_there_is_room_for() -> None:
    budget = Budget(10)
    budget.take(6)

    with pytest.raises(TooMuchAtOnce):
        budget.take(5)
    budget.give(6)
    budget.take(10)

    assert budget.held == 10


async def test_an_answer_that_finds_no_room_ends_and_others_go_on(client: HttpClient) -> None:
    budget = client._budget = Budget(6 * MEGABYTE)
    half = OK + b"Content-Length: %d\r\n\r\n" % LARGE + b"x" * (LARGE - 1)

    async with serving(once(half), serve(answer(b"x" * LARGE)), serve(answer(b"y"))) as site:
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(call(client, site, limit=LARGE))
            await until(lambda: budget.held > 2 * MEGABYTE)

            with pytest.raises(TooMuchAtOnce):
                await call(client, site, limit=LARGE)
            assert (await call(client, site, limit=LARGE)).body == b"y"

            await site.peers.all[0].say(b"x")
        assert len(first.result().body) == LARGE

    assert budget.held == 0


async def test_a_call_that_is_given_up_gives_its_room_back(client: HttpClient) -> None:
    half = OK + b"Content-Length: %d\r\n\r\n" % LARGE + b"x" * (LARGE - 1)

    async with serving(once(half)) as site:
        async with asyncio.TaskGroup() as tasks:
            calling = tasks.create_task(call(client, site, limit=LARGE))
            await until(lambda: client._budget.held > MEGABYTE)
            calling.cancel()

        assert client._budget.held == 0
