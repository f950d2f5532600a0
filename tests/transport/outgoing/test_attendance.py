"""Checks of a backend that is connected, in time that takes no time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.gateway.builders import OK, FakeReply, backend, call_of, key
from tests.support.virtual_time import in_virtual_time
from tests.transport.outgoing.speaking import LOST, FakeBackend, FakeSpeech, keeping
from vmcp.gateway.ports import Reply
from vmcp.model.backend import Backend, StdioEndpoint
from vmcp.model.health import DEFAULT_HEALTH, Stage, State
from vmcp.model.inventory import Era
from vmcp.protocol.call import Call, Done
from vmcp.protocol.failures import BackendFailed
from vmcp.transport.outgoing.speech import EraContradicted

INTERVAL = DEFAULT_HEALTH.interval_seconds
SILENT = 3600.0


def state(world: FakeBackend) -> State:
    return world.vitals(key("a")).state


def process() -> Backend:
    return replace(backend("a"), endpoint=StdioEndpoint("a", (), (), None))


@in_virtual_time
async def test_a_backend_is_checked_once_in_an_interval_more_or_less() -> None:
    world = FakeBackend()
    async with keeping(world):
        await asyncio.sleep(20 * INTERVAL)

    waits = [later - earlier for earlier, later in pairwise([0.0, *world.probed])]
    assert all(0.9 * INTERVAL <= wait <= 1.1 * INTERVAL + 0.1 for wait in waits)
    assert len({round(wait, 1) for wait in waits}) > 5
    assert state(world) is State.HEALTHY


@in_virtual_time
async def test_a_backend_that_is_listed_without_a_stream_needs_few_checks() -> None:
    world = FakeBackend()
    world.has_stream = False
    async with keeping(world):
        await asyncio.sleep(20 * INTERVAL)

    assert len(world.probed) < len(world.lists())


@in_virtual_time
async def test_a_backend_that_answers_calls_is_not_checked() -> None:
    world = FakeBackend()
    async with keeping(world) as keeper:
        for _ in range(30):
            await asyncio.sleep(INTERVAL / 2)
            await keeper.call(call_of("tools/call"), FakeReply())
            world.vitals(key("a")).answered(asyncio.get_running_loop().time())

    assert world.probed == []


@in_virtual_time
async def test_a_slow_check_is_the_only_one() -> None:
    world = FakeBackend()
    world.probe_seconds = SILENT
    world.health.rules.set(replace(DEFAULT_HEALTH, interval_seconds=1.0, timeout_seconds=5.0))
    async with keeping(world):
        await asyncio.sleep(12)

    assert len(world.probed) <= 3
    assert world.stages == [Stage.PROBE] * len(world.found[1:])


@in_virtual_time
async def test_silence_makes_it_degraded_then_unhealthy_and_connected_anew() -> None:
    world = FakeBackend()
    async with keeping(world):
        world.probe_seconds = SILENT
        await asyncio.sleep(1.2 * INTERVAL + 10)
        early = state(world), len(world.tried)
        await asyncio.sleep(2 * (1.1 * INTERVAL + 10))

    assert early == (State.DEGRADED, 1)
    assert world.found[:4] == ["one", "TimedOut", "TimedOut", "TimedOut"]
    assert len(world.tried) == 2


@in_virtual_time
async def test_one_that_is_back_is_listed_anew() -> None:
    world = FakeBackend()
    async with keeping(world):
        world.probe_failure = BackendFailed("a", "TimedOut", "too slow.")
        await asyncio.sleep(1.2 * INTERVAL)
        world.probe_failure = None
        before = len(world.lists())
        await asyncio.sleep(1.2 * INTERVAL)

    assert state(world) is State.HEALTHY
    assert len(world.lists()) == before + 1
    assert len(world.tried) == 1


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (BackendFailed("a", "Unauthorized", "401."), State.UNAUTHENTICATED),
        (BackendFailed("a", "Overloaded", "503."), State.HEALTHY),
        (BackendFailed("a", "TimedOut", "too slow."), State.DEGRADED),
    ],
    ids=["foreign", "busy", "silent"],
)
def test_a_check_that_fails_otherwise_leaves_the_connection(
    failure: Exception, expected: State
) -> None:
    @in_virtual_time
    async def check() -> None:
        world = FakeBackend()
        async with keeping(world):
            world.probe_failure = failure
            await asyncio.sleep(1.5 * INTERVAL)

            assert state(world) is expected
            assert len(world.tried) == 1

    check()


@in_virtual_time
async def test_a_busy_backend_is_not_checked_before_the_time_that_it_named() -> None:
    world = FakeBackend()
    async with keeping(world):
        world.probe_failure = BackendFailed("a", "Overloaded", "503.", retryAfterSeconds=55)
        await asyncio.sleep(1.1 * INTERVAL)
        asked = len(world.probed)
        await asyncio.sleep(45)

    assert len(world.probed) == asked


@in_virtual_time
async def test_a_connection_that_a_check_finds_lost_is_opened_anew_at_once() -> None:
    world = FakeBackend()
    async with keeping(world):
        world.probe_failure = LOST
        await asyncio.sleep(1.2 * INTERVAL)

    assert world.found == ["one", "Unreachable", "one"]
    assert world.tried[1] == world.probed[0]


@in_virtual_time
async def test_a_session_that_is_forgotten_is_opened_anew_and_no_failure() -> None:
    world = FakeBackend()
    async with keeping(world):
        world.probe_failure = BackendFailed("a", "SessionLost", "our session is gone.")
        await asyncio.sleep(1.2 * INTERVAL)

    assert world.found == ["one", "one"]
    assert state(world) is State.HEALTHY


@in_virtual_time
async def test_a_backend_that_has_changed_its_era_is_connected_anew() -> None:
    world = FakeBackend()
    async with keeping(world):
        world.era, world.probe_failure = Era.STATELESS, EraContradicted("it is another one")
        await asyncio.sleep(1.2 * INTERVAL)

    assert world.found == ["one", "one"]
    assert world.speech.peer.era is Era.STATELESS


@in_virtual_time
async def test_what_a_backend_newly_says_of_itself_has_it_listed_anew() -> None:
    world = FakeBackend()
    async with keeping(world):
        world.more = {"prompts": {}}
        await asyncio.sleep(1.2 * INTERVAL)

    assert len(world.lists()) == 2
    assert len(world.lists("prompts/list")) == 1


@in_virtual_time
async def test_a_call_that_fails_by_its_connection_has_the_backend_checked_at_once() -> None:
    async def fail(_speech: FakeSpeech, _call: Call, _reply: Reply) -> Done:
        raise BackendFailed("a", "ConnectionLost", "it broke.")

    world = FakeBackend()
    world.act = fail
    async with keeping(world) as keeper:
        for _ in range(10):
            with pytest.raises(BackendFailed):
                await keeper.call(call_of("tools/call"), FakeReply())
        called = world.time()
        await asyncio.sleep(1)

    assert world.probed[0] == called
    assert len(world.probed) <= 2


@in_virtual_time
async def test_an_interval_that_changes_holds_at_once_and_for_the_same_connection() -> None:
    world = FakeBackend()
    async with keeping(world):
        await asyncio.sleep(2)
        world.health.rules.set(replace(DEFAULT_HEALTH, interval_seconds=5.0))
        await asyncio.sleep(60)

    assert 10 <= len(world.probed) <= 14
    assert len(world.tried) == 1


@in_virtual_time
async def test_the_silence_of_a_process_that_works_on_a_call_is_no_failure() -> None:
    async def work(_speech: FakeSpeech, _call: Call, _reply: Reply) -> Done:
        await asyncio.sleep(5 * INTERVAL)
        return OK

    world = FakeBackend()
    world.act = work
    async with keeping(world, process()) as keeper:
        world.probe_seconds = SILENT
        await keeper.call(call_of("tools/call"), FakeReply())

    assert world.found == ["one"]
    assert world.probed


@in_virtual_time
async def test_it_is_one_once_a_call_has_gone_unanswered() -> None:
    async def hang(_speech: FakeSpeech, _call: Call, _reply: Reply) -> Done:
        await asyncio.sleep(SILENT)
        return OK

    world = FakeBackend()
    world.act = hang
    async with keeping(world, process()) as keeper, asyncio.TaskGroup() as tasks:
        world.probe_seconds = SILENT
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await keeper.call(call_of("tools/call"), FakeReply())
        another = tasks.create_task(keeper.call(call_of("tools/call"), FakeReply()))
        await asyncio.sleep(3 * (1.1 * INTERVAL + 10))
        another.cancel()

    assert world.found[1:4] == ["TimedOut"] * 3
