"""Who keeps a backend, in time that takes no time."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.gateway.builders import OK, FakeReply, backend, call_of, session_client
from tests.support.virtual_time import in_virtual_time
from tests.transport.outgoing.speaking import (
    LOST,
    FakeBackend,
    FakeSpeech,
    keeping,
    running_in_place,
)
from vmcp.gateway.ports import Reply
from vmcp.model.inventory import Era
from vmcp.protocol.call import Call, Done
from vmcp.protocol.failures import BackendFailed, Refusal
from vmcp.transport.outgoing.errands import Errands
from vmcp.transport.outgoing.speech import EraContradicted, Refused
from vmcp.transport.outgoing.supervised import SupervisedBackend

TOOLS = "notifications/tools/list_changed"


@in_virtual_time
async def test_a_backend_is_listed_at_once_and_again_when_it_tells_of_a_change() -> None:
    world = FakeBackend()
    async with keeping(world):
        world.tools.append("two")
        world.speech.tell(TOOLS)
        await asyncio.sleep(600)

    assert world.found == ["one", "one,two"]
    assert (len(world.lists()), len(world.lists("resources/list"))) == (2, 1)
    assert len(world.tried) == 1


@in_virtual_time
async def test_changes_that_come_together_are_one_list() -> None:
    world = FakeBackend()
    async with keeping(world):
        for _ in range(100):
            world.speech.tell(TOOLS)
        await asyncio.sleep(5)

    assert len(world.lists()) == 2


@in_virtual_time
async def test_a_backend_that_tells_of_a_change_whenever_it_is_listed_is_listed_once_a_second() -> (
    None
):
    world = FakeBackend()
    async with keeping(world):
        world.tells_when_listed = True
        world.speech.tell(TOOLS)
        await asyncio.sleep(60)

    assert 60 <= len(world.lists()) <= 70


@in_virtual_time
async def test_a_change_after_a_calm_time_is_listed_at_once() -> None:
    world = FakeBackend()
    async with keeping(world):
        told = []
        for _ in range(3):
            await asyncio.sleep(10)
            world.speech.tell(TOOLS)
            told.append(world.time())
        await asyncio.sleep(1)

    assert world.lists()[1:] == told


@in_virtual_time
async def test_a_backend_that_is_not_there_is_tried_again_after_longer_and_longer_waits() -> None:
    world = FakeBackend()
    world.connect_failure = LOST
    async with keeping(world):
        await asyncio.sleep(600)

    waits = [later - earlier for earlier, later in pairwise(world.tried)]
    for wait, due in zip(waits, (1, 2, 4, 8, 16, 30, 30, 30), strict=False):
        assert 0.9 * due <= wait <= 1.1 * due
    assert set(world.found) == {"Unreachable"}


@in_virtual_time
async def test_a_connection_that_held_is_opened_again_at_once_and_then_with_the_shortest_wait() -> (
    None
):
    world = FakeBackend()
    world.connect_failure = LOST
    async with keeping(world):
        await asyncio.sleep(60)
        world.connect_failure = None
        await asyncio.sleep(120)
        before = len(world.tried)
        lost_at = world.time()
        world.connect_failure = LOST
        world.speech.break_off(LOST)
        await asyncio.sleep(2)

    assert world.tried[before] == lost_at
    assert 0.9 <= world.tried[before + 1] - lost_at <= 1.1


@in_virtual_time
async def test_a_stream_that_is_cut_is_opened_anew_and_what_was_missed_is_listed() -> None:
    world = FakeBackend()
    async with keeping(world):
        await asyncio.sleep(120)
        world.tools.append("two")

        for end in (None, BackendFailed("a", "ConnectionLost", "cut.")):
            world.speech.break_off(end)
            await asyncio.sleep(1)

    assert len(world.tried) == 1
    assert len(world.listens) == 3
    assert world.found[-1] == "one,two"


@in_virtual_time
async def test_a_stream_that_is_cut_again_and_again_is_opened_less_and_less_often() -> None:
    world = FakeBackend()
    async with keeping(world), asyncio.TaskGroup() as tasks:

        async def cut() -> None:
            while True:
                await asyncio.sleep(0.01)
                if world.speech._end is not None and not world.speech._end.done():
                    world.speech.break_off()

        cutting = tasks.create_task(cut())
        await asyncio.sleep(300)
        cutting.cancel()

    assert 10 <= len(world.listens) <= 20


@in_virtual_time
async def test_a_backend_without_a_stream_is_listed_every_half_minute() -> None:
    world = FakeBackend()
    world.has_stream = False
    async with keeping(world):
        await asyncio.sleep(100)
        world.tools.append("two")
        await asyncio.sleep(40)

    waits = [later - earlier for earlier, later in pairwise(world.lists())]
    assert all(27 <= wait <= 33 for wait in waits)
    assert world.found[-1] == "one,two"


@in_virtual_time
async def test_a_list_that_fails_is_a_loss_and_the_next_connection_lists_all() -> None:
    world = FakeBackend()
    async with keeping(world):
        world.list_failure = BackendFailed("a", "TimedOut", "too slow.")
        world.speech.tell(TOOLS)
        await asyncio.sleep(0.5)
        world.list_failure = None
        await asyncio.sleep(2)

    assert world.found == ["one", "TimedOut", "one"]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (LOST, "Unreachable"),
        (EraContradicted("it is none"), "NotMcp"),
        (TimeoutError(), "TimedOut"),
    ],
    ids=["failed", "no server", "silent"],
)
def test_what_stands_in_the_way_is_told(failure: Exception, reason: str) -> None:
    @in_virtual_time
    async def tell() -> None:
        world = FakeBackend()
        world.connect_failure = failure
        async with keeping(world):
            assert world.found == [reason]

    tell()


@in_virtual_time
async def test_a_call_that_comes_before_the_first_connection_waits_for_it() -> None:
    world = FakeBackend()
    keeper = SupervisedBackend(backend("a"), world.connect, world, Errands())
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(keeper.call(call_of("tools/call"), FakeReply()))
        await asyncio.sleep(5)
        running = tasks.create_task(keeper.run())

        assert await call == OK
        running.cancel()


@in_virtual_time
async def test_a_call_to_a_backend_that_was_never_reached_fails() -> None:
    world = FakeBackend()
    world.connect_failure = LOST
    async with keeping(world) as keeper:
        with pytest.raises(BackendFailed) as caught:
            await keeper.call(call_of("tools/call"), FakeReply())

    assert caught.value.reason == "Unreachable"
    assert caught.value.message == "Backend 'a': it is not connected: nobody is there."


@in_virtual_time
async def test_a_call_has_a_server_tried_that_was_never_reached_and_may_be_back() -> None:
    world = FakeBackend()
    world.connect_failure = LOST
    async with keeping(world) as keeper:
        await asyncio.sleep(50)
        world.connect_failure = None
        began = world.time()

        assert await keeper.call(call_of("tools/call"), FakeReply()) == OK

    assert world.tried[-1] == began


@in_virtual_time
async def test_calls_have_a_server_that_is_away_tried_no_more_than_twice_a_second() -> None:
    world = FakeBackend()
    world.connect_failure = LOST
    async with keeping(world) as keeper:
        for _ in range(100):
            with pytest.raises(BackendFailed):
                await keeper.call(call_of("tools/call"), FakeReply())
            await asyncio.sleep(0.1)

    waits = [later - earlier for earlier, later in pairwise(world.tried)]
    assert min(waits) > 0.49
    assert len(waits) >= 15


@in_virtual_time
async def test_a_server_that_wishes_to_be_left_alone_is_not_tried_for_calls() -> None:
    world = FakeBackend()
    busy = BackendFailed("a", "Overloaded", "it is busy.", retryAfterSeconds=20)
    world.connect_failure = busy
    async with keeping(world) as keeper:
        for _ in range(30):
            with pytest.raises(BackendFailed):
                await keeper.call(call_of("tools/call"), FakeReply())
            await asyncio.sleep(1)

    assert [round(each) for each in world.tried] == [0, 20]


@in_virtual_time
async def test_a_call_does_not_wait_for_a_server_that_is_silent_again() -> None:
    world = FakeBackend()
    world.connect_failure = LOST
    async with keeping(world) as keeper:
        await asyncio.sleep(5)
        world.connect_seconds = 60.0
        began = world.time()
        with pytest.raises(BackendFailed):
            await keeper.call(call_of("tools/call"), FakeReply())

        assert world.time() - began == 2


@in_virtual_time
async def test_a_call_that_finds_another_era_is_made_again_once_the_connection_is_new() -> None:
    async def contradict(speech: FakeSpeech, _call: Call, _reply: Reply) -> Done:
        if speech.peer.era is Era.SESSIONED:
            world.era = Era.STATELESS
            raise EraContradicted("it is another one")
        return OK

    world = FakeBackend()
    world.act = contradict
    async with keeping(world) as keeper:
        end = await keeper.call(call_of("tools/call"), FakeReply())

    assert end == OK
    assert (len(world.speeches), world.calls) == (2, 2)


@in_virtual_time
async def test_calls_that_find_another_era_together_connect_anew_once() -> None:
    async def contradict(speech: FakeSpeech, _call: Call, _reply: Reply) -> Done:
        await asyncio.sleep(1)
        if speech is world.speeches[0]:
            raise EraContradicted("it is another one")
        return OK

    world = FakeBackend()
    world.act = contradict
    async with keeping(world) as keeper, asyncio.TaskGroup() as tasks:
        calls = [
            tasks.create_task(keeper.call(call_of("tools/call"), FakeReply())) for _ in range(5)
        ]

    assert [call.result() for call in calls] == [OK] * 5
    assert len(world.speeches) == 2


@in_virtual_time
async def test_a_refusal_that_proves_to_be_of_the_same_era_is_the_answer() -> None:
    refusal = Done(b'{"code":-32600,"message":"no"}', is_error=True)

    async def refuse(_speech: FakeSpeech, _call: Call, _reply: Reply) -> Done:
        raise EraContradicted("it may be another one", refusal)

    world = FakeBackend()
    world.act = refuse
    async with keeping(world) as keeper:
        end = await keeper.call(call_of("tools/call"), FakeReply())

    assert end == refusal
    assert world.calls == 1


@in_virtual_time
async def test_an_era_that_is_contradicted_twice_is_an_error() -> None:
    async def contradict(_speech: FakeSpeech, _call: Call, _reply: Reply) -> Done:
        raise EraContradicted("it is neither")

    world = FakeBackend()
    world.act = contradict
    async with keeping(world) as keeper:
        with pytest.raises(BackendFailed) as caught:
            await keeper.call(call_of("tools/call"), FakeReply())

    assert caught.value.reason == "InvalidAnswer"
    assert world.calls == 2


@in_virtual_time
async def test_subscriptions_are_made_again_on_each_new_connection() -> None:
    world = FakeBackend()
    async with keeping(world) as keeper:
        await keeper.subscribe("x://1")
        await keeper.subscribe("x://2")
        await keeper.unsubscribe("x://2")
        world.subscribed.clear()

        world.speech.break_off(LOST)
        await asyncio.sleep(2)

    assert world.subscribed == ["x://1"]


@pytest.mark.parametrize("end", [None, LOST], ids=["its stream", "the backend"])
def test_what_was_watched_counts_as_updated_when_it_was_away(end: Exception | None) -> None:
    @in_virtual_time
    async def look() -> None:
        world = FakeBackend()
        async with keeping(world) as keeper:
            await keeper.subscribe("x://1")
            assert world.updates == []

            world.speech.break_off(end)
            await asyncio.sleep(2)

        assert world.updates == [("x://1", {"uri": "x://1"})]

    look()


@in_virtual_time
async def test_an_update_is_told_without_the_mark_of_our_own_stream() -> None:
    world = FakeBackend()
    mark = {"io.modelcontextprotocol/subscriptionId": 1}
    async with keeping(world):
        for meta in ({"_meta": mark}, {"_meta": {**mark, "more": 2}}, {}):
            world.speech.tell("notifications/resources/updated", uri="x://1", **meta)
        world.speech.tell("notifications/resources/updated", uri=7)

    assert world.updates == [
        ("x://1", {"uri": "x://1"}),
        ("x://1", {"uri": "x://1", "_meta": {"more": 2}}),
        ("x://1", {"uri": "x://1"}),
    ]


class Refusing(FakeSpeech):
    """A backend that takes no subscriptions, and does not end any."""

    async def subscribe(self, uri: str) -> None:
        raise Refused(-32602, f"not {uri}")

    async def unsubscribe(self, uri: str) -> None:
        raise Refused(-32602, f"not {uri}")


@in_virtual_time
async def test_a_refused_subscription_is_told_with_the_backends_own_code() -> None:
    world = FakeBackend()
    async with keeping(world) as keeper:
        keeper._speech = Refusing(world)

        with pytest.raises(Refusal) as caught:
            await keeper.subscribe("x://1")
        await keeper.unsubscribe("x://1")

    assert (caught.value.code, caught.value.message) == (-32602, "not x://1")


@in_virtual_time
async def test_what_concerns_a_client_is_passed_on_where_there_is_a_connection() -> None:
    world = FakeBackend()
    client = session_client(log_level="error")
    idle = SupervisedBackend(backend("a"), world.connect, world, Errands())
    async with keeping(world) as keeper:
        for each in (idle, keeper):
            await each.notify(client, "notifications/x", None)
            await each.set_level(client)
            await each.release(client)

    assert world.told == ["notifications/x", "error", "release", "forget clients"]


@in_virtual_time
async def test_a_call_that_is_answered_ends_the_wait_for_a_backend_that_is_back() -> None:
    world = FakeBackend()
    async with keeping(world) as keeper:
        world.connect_failure = LOST
        world.speech.break_off(LOST)
        await asyncio.sleep(100)
        world.connect_failure = None
        world.tools.append("two")
        began = world.time()

        assert await keeper.call(call_of("tools/call", session_client()), FakeReply()) == OK
        await asyncio.sleep(0.5)

        assert world.found[-1] == "one,two"
        assert world.tried[-1] == began


@in_virtual_time
async def test_other_settings_reach_the_open_connection_and_the_next_one() -> None:
    world = FakeBackend()
    async with keeping(world) as keeper:
        now = backend("a", 5.0)
        keeper.retune(now)
        world.speech.break_off(BackendFailed("a", "SessionLost", "gone."))
        await asyncio.sleep(5)

        assert keeper.backend == now
        assert world.tuned == [backend("a"), now, now]


@in_virtual_time
async def test_a_client_that_retires_reports_nothing_and_still_carries_calls() -> None:
    world = FakeBackend()
    async with keeping(world) as keeper:
        known = len(world.found)

        keeper.retire()
        world.speech.tell("notifications/tools/list_changed")
        await asyncio.sleep(5)

        assert len(world.found) == known
        assert await keeper.call(call_of("tools/call"), FakeReply()) == OK


@in_virtual_time
async def test_a_client_that_ends_leaves_nothing_of_its_clients_at_the_backend() -> None:
    world = FakeBackend()
    async with keeping(world):
        pass

    assert world.told == ["forget clients"]


@in_virtual_time
async def test_a_successor_subscribes_to_what_the_one_before_had() -> None:
    world, after = FakeBackend(), FakeBackend()
    async with keeping(world) as keeper:
        await keeper.subscribe("x://1")
        heir = SupervisedBackend(backend("a"), after.connect, after, Errands())
        heir.succeed(keeper)
        async with running_in_place(heir):
            assert after.subscribed == ["x://1"]
