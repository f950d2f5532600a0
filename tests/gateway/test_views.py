from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from tests.gateway.builders import backend, inventory, key, request_client
from tests.support.virtual_time import HandClock
from tests.support.waiting import until
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.views import Views
from vmcp.latest import Latest
from vmcp.model.inventory import Era
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot


@pytest.fixture
def snapshots() -> Latest[Snapshot]:
    return Latest(Snapshot((backend("a"), backend("b"))))


@pytest.fixture
def inventories() -> Inventories:
    return Inventories(HandClock())


@pytest.fixture
async def views(snapshots: Latest[Snapshot], inventories: Inventories) -> AsyncIterator[Views]:
    """Views that run."""
    made = Views(snapshots, inventories.known)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.run())
        yield made
        running.cancel()


def names(views: Views) -> tuple[str, ...]:
    return views.catalog_of(request_client()).tools.names


async def test_the_catalog_follows_the_inventories(views: Views, inventories: Inventories) -> None:
    inventories.listed(inventory("a", "one"))
    await until(lambda: names(views) == ("a_one",))

    inventories.listed(inventory("b", "two"))

    await until(lambda: names(views) == ("a_one", "b_two"))


async def test_the_catalog_follows_the_snapshot(
    views: Views, inventories: Inventories, snapshots: Latest[Snapshot]
) -> None:
    inventories.listed(inventory("a", "one"))
    await until(lambda: names(views) == ("a_one",))

    snapshots.set(Snapshot((backend("b"),)))

    await until(lambda: names(views) == ())


async def test_the_newest_state_wins_whatever_came_before_it(
    views: Views, inventories: Inventories
) -> None:
    for number in range(50):
        inventories.listed(inventory("a", f"tool_{number}"))
        await asyncio.sleep(0)

    await until(lambda: names(views) == ("a_tool_49",))


async def test_changes_that_come_together_cost_few_catalogs(
    views: Views, inventories: Inventories
) -> None:
    built = 0

    async def count() -> None:
        nonlocal built
        async for _ in views.catalog.changes():
            built += 1

    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count())
        for number in range(200):
            inventories.listed(inventory("a", f"tool_{number}"))
            await asyncio.sleep(0)
        await until(lambda: names(views) == ("a_tool_199",))
        counting.cancel()

    # The present one, one at the first change, one or two after it.
    assert built <= 5


async def test_a_build_does_not_hold_up_the_event_loop(
    views: Views, inventories: Inventories
) -> None:
    loop, turns = asyncio.get_running_loop(), 0
    await until(lambda: views.build_seconds > 0)
    tools = tuple(f"tool_{number:05}" for number in range(20_000))
    inventories.listed(inventory("a", *tools))
    longest, last = 0.0, loop.time()
    while len(names(views)) != len(tools):
        await asyncio.sleep(0)
        longest, last, turns = max(longest, loop.time() - last), loop.time(), turns + 1

    assert turns > 10
    assert longest < max(0.1, views.build_seconds / 2)


async def test_each_problem_is_logged_once_when_it_comes_up(
    views: Views, snapshots: Latest[Snapshot], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    problem = Problem(key("a"), "Bad", "It is bad.")
    other = Problem(key("b"), "Worse", "It is worse.")

    def told() -> list[str]:
        return [vars(each)["reason"] for each in caplog.records]

    snapshots.set(Snapshot(problems=(problem,)))
    await until(lambda: told() == ["Bad"])
    snapshots.set(Snapshot(problems=(problem, other)))
    await until(lambda: told() == ["Bad", "Worse"])
    snapshots.set(Snapshot(problems=(other,)))
    await until(lambda: problem not in views._told)
    snapshots.set(Snapshot(problems=(problem, other)))

    await until(lambda: told() == ["Bad", "Worse", "Bad"])


async def test_the_era_of_a_backend_is_that_of_its_last_inventory(
    views: Views, inventories: Inventories
) -> None:
    inventories.listed(inventory("a", "one"))
    await until(lambda: names(views) == ("a_one",))

    inventories.listed(inventory("a", "one", era=Era.STATELESS))

    assert views.era_of(key("a")) is Era.STATELESS
    assert views.era_of(key("unknown")) is None
