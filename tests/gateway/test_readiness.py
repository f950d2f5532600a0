from __future__ import annotations

import asyncio
import logging

import pytest

from tests.gateway.builders import backend, inventory, key
from tests.support.virtual_time import HandClock, in_virtual_time
from vmcp.catalog.build import build
from vmcp.catalog.lookup import Catalog
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.readiness import Readiness
from vmcp.latest import Latest
from vmcp.model.health import Stage
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.failures import BackendFailed

GONE = BackendFailed("b", "Unreachable", "gone.")


class World:
    """Two backends, what is known of them, and the catalog that the test builds."""

    def __init__(self, *names: str) -> None:
        self.snapshot = Snapshot(tuple(backend(name) for name in names))
        self.inventories = Inventories(HandClock())
        self.catalog: Latest[Catalog] = Latest(build(Snapshot(), {}))
        self.readiness = Readiness(Latest(self.snapshot), self.inventories.health.table)

    def build(self) -> None:
        self.catalog.renew(build(self.snapshot, self.inventories.known.value))


async def when_ready(world: World, *events: tuple[float, object]) -> float:
    """Let events happen at their times and return when the world is ready."""
    loop = asyncio.get_running_loop()
    for when, event in events:
        loop.call_at(when, event)  # type: ignore[arg-type]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.readiness.run(world.catalog))
        await world.readiness.reached()
    assert world.readiness.is_ready
    return loop.time()


@in_virtual_time
async def test_it_is_reached_when_each_backend_is_shown_or_has_failed() -> None:
    world = World("a", "b")

    assert (
        await when_ready(
            world,
            (1, lambda: world.inventories.listed(inventory("a"))),
            (2, world.build),
            (3, lambda: world.inventories.failed(key("b"), Stage.CONNECT, GONE)),
        )
        == 3
    )


@in_virtual_time
async def test_lists_that_the_catalog_does_not_show_yet_are_waited_for() -> None:
    world = World("a")

    assert (
        await when_ready(
            world, (1, lambda: world.inventories.listed(inventory("a"))), (4, world.build)
        )
        == 4
    )


@in_virtual_time
async def test_without_backends_it_is_reached_at_once() -> None:
    assert await when_ready(World()) == 0


@in_virtual_time
async def test_a_backend_that_hangs_is_waited_for_ten_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    world = World("a", "b")

    assert await when_ready(world, (1, lambda: world.inventories.listed(inventory("a")))) == 10
    assert len(caplog.records) == 1


@in_virtual_time
async def test_it_ends_when_the_process_is_about_to() -> None:
    world = World()
    await when_ready(world)

    world.readiness.stop()

    assert not world.readiness.is_ready
    await world.readiness.reached()
