from __future__ import annotations

import asyncio
import logging
import time
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
from vmcp.model.view import NamedView, OneBackend, ViewRules


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

    # The present one, one at the first change, one or two after it, more where others interrupt.
    assert built <= 10


async def test_a_build_does_not_hold_up_the_event_loop(
    views: Views, inventories: Inventories
) -> None:
    turns = 0
    await until(lambda: views.build_seconds > 0)
    tools = tuple(f"tool_{number:05}" for number in range(20_000))
    inventories.listed(inventory("a", *tools))
    # What the thread of the loop itself works at a time: what others do on the machine does not count.
    longest, last = 0.0, time.thread_time()
    while len(names(views)) != len(tools):
        await asyncio.sleep(0)
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
        turns += 1

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


async def test_a_backend_alone_is_there_once_it_was_opened(
    views: Views, inventories: Inventories
) -> None:
    inventories.listed(inventory("a", "one"))

    assert await views.open(OneBackend("a"))

    client = request_client(view=OneBackend("a"))
    await until(lambda: views.catalog_of(client).tools.names == ("one",))
    assert views.server_info_of(client) != views.server_info_of(request_client())


async def test_many_who_open_the_same_view_at_once_are_all_served(views: Views) -> None:
    async with asyncio.TaskGroup() as tasks:
        opened = [tasks.create_task(views.open(OneBackend("a"))) for _ in range(50)]

    assert all(each.result() for each in opened)


@pytest.mark.parametrize("view", [OneBackend("c"), NamedView("a")])
async def test_what_nobody_knows_is_not_opened_and_builds_nothing(
    views: Views, view: OneBackend | NamedView
) -> None:
    await until(lambda: views.made.seconds > 0)
    before = views.made

    assert not await views.open(view)

    await asyncio.sleep(0)
    assert views.made is before
    assert not views.has(view)


async def test_a_view_of_the_newest_snapshot_is_opened_before_its_round_is_over(
    views: Views, snapshots: Latest[Snapshot]
) -> None:
    rules = (ViewRules("part", None, ("a",)),)
    snapshots.set(Snapshot((backend("a"),), views=rules))

    assert await views.open(NamedView("part"))


async def test_a_view_that_vanishes_shows_nothing(
    views: Views, inventories: Inventories, snapshots: Latest[Snapshot]
) -> None:
    inventories.listed(inventory("a", "one"))
    client = request_client(view=OneBackend("a"))
    await views.open(client.view)
    await until(lambda: views.catalog_of(client).tools.names)

    snapshots.set(Snapshot((backend("b"),)))

    await until(lambda: not views.has(client.view))
    assert views.catalog_of(client).tools.names == ()
    assert b"instructions" not in views.greeting_of(client, Era.STATELESS)
    assert not await views.open(client.view)


async def test_a_backend_that_comes_back_has_to_be_asked_for_again(
    views: Views, snapshots: Latest[Snapshot]
) -> None:
    await views.open(OneBackend("a"))
    snapshots.set(Snapshot())
    await until(lambda: not views.has(OneBackend("a")))

    snapshots.set(Snapshot((backend("a"), backend("b"))))
    await until(lambda: views.catalog.value.backends)

    assert not views.has(OneBackend("a"))
    assert await views.open(OneBackend("a"))
