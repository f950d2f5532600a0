from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.gateway.builders import FakeClient, backend, inventory, key, session_client
from tests.support.virtual_time import HandClock, in_virtual_time
from tests.support.waiting import moment, until
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.pool import Pool
from vmcp.gateway.ports import BackendClient
from vmcp.latest import Latest
from vmcp.model.auth import BearerToken
from vmcp.model.backend import HttpEndpoint, StdioEndpoint
from vmcp.model.health import Stage
from vmcp.model.secret import Secret
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.failures import BackendFailed


def snapshot(*names: str, **timeouts: float) -> Snapshot:
    return Snapshot(tuple(backend(name, timeouts.get(name, 30.0)) for name in names))


def moved(*names: str) -> Snapshot:
    """The backends at other addresses."""
    places = {name: HttpEndpoint(f"http://moved.test/{name}") for name in names}
    return Snapshot(tuple(replace(backend(name), endpoint=places[name]) for name in names))


@pytest.fixture
def inventories() -> Inventories:
    return Inventories(HandClock())


@pytest.fixture
def pool(inventories: Inventories) -> Pool:
    return Pool(FakeClient, inventories)


@pytest.fixture
async def snapshots(pool: Pool) -> AsyncIterator[Latest[Snapshot]]:
    """The snapshots that the running pool follows."""
    cell = Latest(Snapshot())
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pool.run(cell))
        yield cell
        running.cancel()


def client(pool: Pool, name: str) -> FakeClient:
    found = pool.members[key(name)].client
    assert isinstance(found, FakeClient)
    return found


async def followed(pool: Pool, cell: Latest[Snapshot], now: Snapshot) -> None:
    cell.set(now)
    await until(lambda: {m.client.backend for m in pool.members.values()} == set(now.backends))
    await until(lambda: all(client(pool, each.name).is_running for each in now.backends))


async def test_a_backend_keeps_its_client_when_another_one_changes(
    pool: Pool, snapshots: Latest[Snapshot]
) -> None:
    await followed(pool, snapshots, snapshot("a", "b"))
    before = client(pool, "a"), client(pool, "b")

    await followed(pool, snapshots, Snapshot((backend("a"), *moved("b").backends)))

    assert client(pool, "a") is before[0]
    assert before[0].runs == 1
    assert client(pool, "b") is not before[1]
    await until(lambda: not before[1].is_running)


@pytest.mark.parametrize("change", [{"timeout_seconds": 5.0}, {"metadata": (("team", "blue"),)}])
async def test_what_the_gateway_alone_looks_at_changes_at_the_same_client(
    pool: Pool, snapshots: Latest[Snapshot], change: dict[str, Any]
) -> None:
    await followed(pool, snapshots, snapshot("a"))
    before = client(pool, "a")

    now = replace(backend("a"), **change)
    await followed(pool, snapshots, Snapshot((now,)))

    assert client(pool, "a") is before
    assert before.backend == now
    assert before.runs == 1


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": HttpEndpoint("http://moved.test")},
        {"endpoint": HttpEndpoint("http://a.test/mcp", transport="sse")},
        {"endpoint": StdioEndpoint("run")},
        {"auth": BearerToken(Secret("t"))},
        {"headers": (("X", Secret("x")),)},
        {"passthrough": ("x",)},
        {"session_scope": "shared"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_what_a_backend_would_notice_needs_a_new_client(
    pool: Pool, snapshots: Latest[Snapshot], change: dict[str, Any]
) -> None:
    await followed(pool, snapshots, snapshot("a"))
    before = client(pool, "a")

    await followed(pool, snapshots, Snapshot((replace(backend("a"), **change),)))

    assert client(pool, "a") is not before


async def test_what_was_listed_stays_until_the_new_client_has_listed(
    pool: Pool, snapshots: Latest[Snapshot], inventories: Inventories
) -> None:
    await followed(pool, snapshots, snapshot("a"))
    listed = inventory("a", "echo")
    inventories.listed(listed)
    before = client(pool, "a")

    await followed(pool, snapshots, moved("a"))

    assert inventories.known.value == {key("a"): listed}
    assert before.is_retired


async def test_a_removed_backend_leaves_its_lists_at_once(
    pool: Pool, snapshots: Latest[Snapshot], inventories: Inventories
) -> None:
    await followed(pool, snapshots, snapshot("a", "b"))
    inventories.listed(inventory("a", "echo"))

    await followed(pool, snapshots, snapshot("b"))

    assert inventories.known.value == {}


@pytest.mark.parametrize("then", [moved("a"), snapshot()], ids=["changed", "removed"])
async def test_a_client_lives_until_its_calls_have_ended(
    pool: Pool, snapshots: Latest[Snapshot], then: Snapshot
) -> None:
    await followed(pool, snapshots, snapshot("a"))
    member, before = pool.members[key("a")], client(pool, "a")
    member.begin()
    member.begin()

    await followed(pool, snapshots, then)
    member.finish()
    await moment()
    assert before.is_running

    member.finish()
    await until(lambda: not before.is_running)


async def test_a_call_that_waits_for_its_client_counts_as_open(
    pool: Pool, snapshots: Latest[Snapshot]
) -> None:
    await followed(pool, snapshots, snapshot("a"))
    member, before = pool.members[key("a")], client(pool, "a")
    member.begin()
    # As a parked call does while its client is asked.
    member.calls -= 1

    await followed(pool, snapshots, moved("a"))
    await moment()

    assert before.is_running
    member.calls += 1
    member.finish()
    await until(lambda: not before.is_running)


async def test_a_client_that_lives_on_still_hears_of_the_end_of_a_session(
    pool: Pool, snapshots: Latest[Snapshot]
) -> None:
    await followed(pool, snapshots, snapshot("a"))
    before = client(pool, "a")
    pool.members[key("a")].begin()
    await followed(pool, snapshots, moved("a"))
    caller = session_client()

    await pool.release(caller)

    assert before.released == [caller]
    assert client(pool, "a").released == [caller]


async def test_a_new_client_takes_over_subscriptions_and_counts(
    pool: Pool, snapshots: Latest[Snapshot]
) -> None:
    heard: list[tuple[BackendClient, BackendClient]] = []
    pool.on_replace(lambda before, now: heard.append((before, now)))
    await followed(pool, snapshots, snapshot("a"))
    before, meter = client(pool, "a"), pool.members[key("a")].meter
    await before.subscribe("x://1")

    await followed(pool, snapshots, moved("a"))

    now = client(pool, "a")
    assert now.subscribed == ["x://1"]
    assert heard == [(before, now)]
    assert pool.members[key("a")].meter is meter


async def test_changes_are_logged_once(
    pool: Pool, snapshots: Latest[Snapshot], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for now in (snapshot("a"), snapshot("a", a=5.0), moved("a"), snapshot()):
        await followed(pool, snapshots, now)

    assert [(r.message, vars(r).get("connection")) for r in caplog.records] == [
        ("backend added", None),
        ("backend changed", "kept"),
        ("backend changed", "new"),
        ("backend removed", None),
    ]


async def test_a_removed_backend_is_left_and_forgotten(
    pool: Pool, snapshots: Latest[Snapshot], inventories: Inventories
) -> None:
    await followed(pool, snapshots, snapshot("a", "b"))
    gone = client(pool, "a")
    inventories.failed(key("a"), Stage.CONNECT, BackendFailed("a", "Unreachable", "gone."))

    await followed(pool, snapshots, snapshot("b"))

    await until(lambda: not gone.is_running)
    assert key("a") not in inventories.health.table.value


async def test_a_snapshot_that_comes_and_goes_unseen_is_skipped(
    pool: Pool, snapshots: Latest[Snapshot]
) -> None:
    snapshots.set(snapshot("a"))
    await followed(pool, snapshots, snapshot("b"))

    assert [member.client.backend.name for member in pool.members.values()] == ["b"]


async def test_all_backends_are_left_when_the_pool_ends(inventories: Inventories) -> None:
    pool, cell = Pool(FakeClient, inventories), Latest(snapshot("a", "b"))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pool.run(cell))
        await until(lambda: len(pool.members) == 2)
        await until(lambda: client(pool, "b").is_running)
        running.cancel()

    assert not client(pool, "a").is_running
    assert not client(pool, "b").is_running


class Broken(FakeClient):
    """A client with a fault of ours."""

    async def run(self) -> None:
        raise ZeroDivisionError


async def test_a_client_that_breaks_is_logged_and_the_others_go_on(
    inventories: Inventories, caplog: pytest.LogCaptureFixture
) -> None:
    pool = Pool(lambda each: (Broken if each.name == "a" else FakeClient)(each), inventories)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pool.run(Latest(snapshot("a", "b"))))
        await until(lambda: len(pool.members) == 2 and client(pool, "b").is_running)

        assert [r.message for r in caplog.records if r.levelno >= logging.ERROR] == [
            "backend's client failed"
        ]
        assert not running.done()
        running.cancel()


async def test_what_concerns_a_client_is_told_to_every_backend(
    pool: Pool, snapshots: Latest[Snapshot]
) -> None:
    await followed(pool, snapshots, snapshot("a", "b"))
    caller = session_client(log_level="error")

    await pool.notify(caller, "notifications/x", b"{}")
    await pool.set_level(caller)
    await pool.release(caller)

    for name in ("a", "b"):
        assert client(pool, name).told == [("notifications/x", b"{}")]
        assert client(pool, name).levels == ["error"]
        assert client(pool, name).released == [caller]


async def test_a_backend_that_fails_keeps_the_others_from_nothing(
    pool: Pool, snapshots: Latest[Snapshot]
) -> None:
    await followed(pool, snapshots, snapshot("a", "b"))
    client(pool, "a").failure = ZeroDivisionError()
    caller = session_client()

    await pool.release(caller)

    assert client(pool, "b").released == [caller]


class Hanging(FakeClient):
    """A client that never comes back."""

    async def release(self, client: object) -> None:  # noqa: ARG002
        await asyncio.get_running_loop().create_future()


@in_virtual_time
async def test_a_backend_that_hangs_is_waited_for_five_seconds() -> None:
    pool = Pool(
        lambda each: (Hanging if each.name == "a" else FakeClient)(each), Inventories(HandClock())
    )
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pool.run(Latest(snapshot("a", "b"))))
        await asyncio.sleep(1)

        await pool.release(session_client())

        assert asyncio.get_running_loop().time() == 6
        assert len(client(pool, "b").released) == 1
        running.cancel()
