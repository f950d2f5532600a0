from __future__ import annotations

import asyncio
import json

import pytest

from tests.support.virtual_time import HandClock
from vmcp.gateway.replay import Archive, Place, Replays, Trail
from vmcp.protocol.sse import Parser, ServerEvent

MIB = 2**20


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def archive(clock: HandClock) -> Archive:
    return Archive(clock)


@pytest.fixture
def replays(archive: Archive) -> Replays:
    return Replays(archive)


def read(chunk: bytes) -> ServerEvent:
    (event,) = Parser(2**24).feed(chunk)
    return event


def identity(chunk: bytes) -> str:
    return (read(chunk).id or b"").decode()


def at(replays: Replays, event_id: str) -> Place:
    place = replays.find(event_id)
    assert place is not None
    return place


async def rest(trail: Trail, after: int) -> list[bytes]:
    """Return the data that a reader gets which comes back to a closed stream."""
    reader = object()
    trail.attach(reader, after)
    found = []
    while (event := await trail.next(reader)) is not None:
        found.append(read(event).data)
    return found


async def test_ids_are_unique_in_the_session_and_lead_back_to_their_stream(
    replays: Replays,
) -> None:
    one, two, listening = replays.begin(b"1"), replays.begin(b"1"), replays.begin(None)
    events = [trail.add(b"{}") for trail in (one, two, listening) for _ in range(3)]
    openings = [trail.opening() for trail in (one, two, listening)]

    ids = [identity(event) for event in events + openings]

    assert len(set(ids)) == 12
    assert [at(replays, each).trail for each in ids[:9]] == [one] * 3 + [two] * 3 + [listening] * 3
    assert [at(replays, each).number for each in ids[:3]] == [1, 2, 3]
    assert at(replays, ids[9]) == Place(one, 0, b"1")


async def test_a_stream_opens_with_an_event_that_has_an_id_and_no_data(replays: Replays) -> None:
    event = read(replays.begin(b"1").opening())

    assert (event.data, event.type) == (b"", b"")


async def test_what_came_after_an_event_is_given_again(replays: Replays) -> None:
    trail = replays.begin(b"1")
    for number in range(5):
        trail.add(b"%d" % number)
    trail.close()

    assert await rest(trail, 2) == [b"2", b"3", b"4"]
    assert await rest(trail, 0) == [b"0", b"1", b"2", b"3", b"4"]
    assert await rest(trail, 5) == []
    assert await rest(trail, 99) == []


async def test_a_reader_gets_what_still_comes(replays: Replays) -> None:
    trail, reader = replays.begin(b"1"), object()
    trail.attach(reader)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(trail.next(reader))
        await asyncio.sleep(0)
        trail.add(b"now")

    assert read(waiting.result() or b"").data == b"now"


async def test_a_reader_ends_when_another_one_takes_its_place(replays: Replays) -> None:
    trail, old, new = replays.begin(b"1"), object(), object()
    trail.attach(old)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(trail.next(old))
        await asyncio.sleep(0)
        trail.attach(new)
    trail.add(b"for the new one")
    trail.detach(old)

    assert waiting.result() is None
    assert trail.reader is new
    assert await trail.next(new) is not None


@pytest.mark.parametrize(("size", "kept"), [(10, 256), (300 * 2**10, 3), (3 * MIB, 1)])
async def test_a_stream_keeps_its_newest_events(
    archive: Archive, replays: Replays, size: int, kept: int
) -> None:
    trail = replays.begin(b"1")
    for number in range(300 if size < MIB // 4 else 6):
        trail.add(b"%d" % number + b"x" * size)
    newest = trail.add(b"y" * size)
    trail.close()

    found = await rest(trail, 0)

    assert len(found) == kept
    assert found[-1] == read(newest).data
    assert archive.held == trail._held


async def test_a_stream_on_which_too_much_waits_is_closed_and_can_be_come_back_to(
    replays: Replays,
) -> None:
    trail, reader = replays.begin(None), object()
    trail.attach(reader)
    taken = [trail.put(b"%d" % number) for number in range(257)]

    assert taken == [True] * 256 + [False]
    assert not trail.put(b"later")
    for number in range(256):
        assert read(await trail.next(reader) or b"").data == b"%d" % number
    assert await trail.next(reader) is None

    trail.detach(reader)
    trail.attach(reader, 256)
    assert trail.put(b"again")
    assert read(await trail.next(reader) or b"").data == b"again"


async def test_bytes_that_wait_close_a_stream_too(replays: Replays) -> None:
    trail, reader = replays.begin(None), object()
    trail.attach(reader)

    assert trail.put(b"x" * 3 * MIB)
    assert not trail.put(b"x")


async def test_without_a_reader_a_stream_keeps_what_is_put(replays: Replays) -> None:
    trail, reader = replays.begin(None), object()
    trail.attach(reader)
    trail.detach(reader)
    assert all(trail.put(b"%d" % number) for number in range(300))

    trail.attach(reader)
    assert read(await trail.next(reader) or b"").data == b"44"


async def test_a_stream_to_which_nobody_comes_back_is_forgotten_after_five_minutes(
    clock: HandClock, archive: Archive, replays: Replays
) -> None:
    running, ended, listening, followed = (replays.begin(each) for each in (b"1", b"2", None, None))
    for trail in (running, ended, listening, followed):
        trail.attach(trail)
        trail.add(b"{}")
    ended.close()
    listening.detach(listening)

    clock.move(299)
    archive.sweep()
    assert len(replays) == 4
    clock.move(1)
    archive.sweep()

    assert [each.is_kept for each in (running, ended, listening, followed)] == [
        True,
        False,
        False,
        True,
    ]
    assert at(replays, identity(ended.opening())) == Place(None, 0, b"2")
    assert replays.find(identity(listening.opening())) is None
    assert archive.held == running._held + followed._held


async def test_who_comes_back_to_a_listening_stream_keeps_it(
    clock: HandClock, archive: Archive, replays: Replays
) -> None:
    trail = replays.begin(None)
    trail.attach(trail)
    trail.detach(trail)
    clock.move(299)
    trail.attach(trail)

    clock.move(299)
    archive.sweep()

    assert trail.is_kept


async def test_of_too_many_ended_streams_the_oldest_is_forgotten(replays: Replays) -> None:
    trails = [replays.begin(b"%d" % number) for number in range(33)]
    for trail in trails:
        trail.add(b"{}")
        trail.close()

    assert [trail.is_kept for trail in trails] == [False] + [True] * 32


async def test_a_session_keeps_four_mebibytes_and_forgets_what_has_ended_first(
    archive: Archive, replays: Replays
) -> None:
    running, ended, new = (replays.begin(each) for each in (b"1", b"2", b"3"))
    running.add(b"r" * MIB)
    ended.add(b"e" * 2 * MIB)
    ended.close()

    new.add(b"n" * 2 * MIB)

    assert (running.is_kept, ended.is_kept, new.is_kept) == (True, False, True)
    assert archive.held == running._held + new._held


async def test_a_message_that_is_too_large_to_be_kept_is_sent_all_the_same(
    archive: Archive, replays: Replays
) -> None:
    trail = replays.begin(b"7")
    event = trail.add(b"x" * 5 * MIB)

    assert len(read(event).data) == 5 * MIB
    assert at(replays, identity(event)) == Place(None, 1, b"7")
    assert archive.held == 0


async def test_all_sessions_together_are_bounded(clock: HandClock) -> None:
    archive = Archive(clock)
    trails = [Replays(archive).begin(b"1") for _ in range(43)]
    for trail in trails:
        trail.add(b"x" * 3 * MIB)
        trail.close()

    assert [trail.is_kept for trail in trails] == [False] + [True] * 42
    assert archive.held <= 128 * MIB


async def test_a_session_that_ends_leaves_nothing(archive: Archive, replays: Replays) -> None:
    for request in (b"1", b"2", None, None):
        trail = replays.begin(request)
        trail.attach(trail)
        trail.add(b"{}")
        trail.close()

    replays.end()

    assert (len(replays), archive.held, len(archive._parted)) == (0, 0, 0)


async def test_a_reader_of_a_forgotten_stream_comes_to_its_end(replays: Replays) -> None:
    trail, reader = replays.begin(b"1"), object()
    trail.attach(reader)
    trail.add(b"lost")
    trail.drop()
    trail.add(b"lost too")
    trail.close()

    assert await trail.next(reader) is None


@pytest.mark.parametrize(
    "request_id", ["1", "-5", '"a"', '""', '"with space, and ~"', "9007199254740993"]
)
async def test_the_id_of_a_forgotten_event_tells_the_request(
    replays: Replays, request_id: str
) -> None:
    event = replays.begin(request_id.encode()).opening()

    assert at(Replays(replays._archive), identity(event)) == Place(None, 0, request_id.encode())


async def test_a_long_request_id_is_not_told(replays: Replays) -> None:
    event = replays.begin(json.dumps("x" * 63).encode()).opening()

    assert at(Replays(replays._archive), identity(event)) == Place(None, 0, None)


@pytest.mark.parametrize("told", ["e30", "IiIi", "bnVsbA", "MQo", "A", "Ilwi"])
async def test_a_request_id_that_is_not_of_our_making_is_not_taken(
    replays: Replays, told: str
) -> None:
    assert at(replays, f"c9-1-{told}").request is None


@pytest.mark.parametrize(
    "event_id", ["", "1", "g1", "x1-1", "g1-1", "g1-x", "c1-1 ", "cé-1", "c1--1"]
)
async def test_an_id_that_is_none_of_ours_leads_nowhere(replays: Replays, event_id: str) -> None:
    assert replays.find(event_id) is None
