"""One answer on its way to a client: a body of its own or a stream, begun once and ended once."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.virtual_time import HandClock
from tests.transport.incoming.wires import Wire
from vmcp.transport.incoming.answer import HttpAnswer
from vmcp.transport.incoming.keeper import Keeper

COMMENT = b": keep-alive\n\n"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def keeper(clock: HandClock) -> Keeper:
    return Keeper(clock)


async def test_a_lone_message_is_the_body(keeper: Keeper) -> None:
    wire = Wire()

    await HttpAnswer(wire.request(), keeper).finish(b"{}", 400, (b"x", b"y"))

    assert (wire.status, wire.body) == (400, b"{}")
    assert wire.headers[b"content-type"] == b"application/json"
    assert wire.headers[b"x-request-id"] == b"id-1"
    assert wire.headers[b"x"] == b"y"


async def test_what_comes_before_the_last_message_makes_a_stream(keeper: Keeper) -> None:
    wire = Wire()
    answer = HttpAnswer(wire.request(), keeper)

    await answer.event(b"1")
    await answer.finish(b"2", 400)

    assert (wire.status, wire.body) == (200, b"data: 1\n\ndata: 2\n\n")
    assert wire.headers[b"content-type"] == b"text/event-stream"
    assert wire.headers[b"x-accel-buffering"] == b"no"
    assert wire.headers[b"x-request-id"] == b"id-1"


async def test_a_client_that_takes_streams_alone_gets_one(keeper: Keeper) -> None:
    wire = Wire()

    await HttpAnswer(wire.request("text/event-stream"), keeper).finish(b"1")

    assert wire.body == b"data: 1\n\n"


@pytest.mark.parametrize(
    ("accept", "silent_seconds", "is_due"),
    [
        (None, 9.9, False),
        (None, 10.0, True),
        ("application/json", 60.0, False),
        ("application/json, text/event-stream;q=0", 60.0, False),
    ],
)
async def test_an_answer_is_silent_for_ten_seconds_at_most(
    clock: HandClock, keeper: Keeper, accept: str | None, silent_seconds: float, *, is_due: bool
) -> None:
    answer = HttpAnswer(Wire().request(accept), keeper)

    clock.move(silent_seconds)

    assert answer.is_due(clock.monotonic()) is is_due


async def test_a_stream_is_silent_for_fifteen_seconds_at_most(
    clock: HandClock, keeper: Keeper
) -> None:
    wire = Wire()
    answer = HttpAnswer(wire.request(), keeper)
    clock.move(5)
    await answer.event(b"1")

    clock.move(14.9)
    assert not answer.is_due(clock.monotonic())
    clock.move(0.1)
    assert answer.is_due(clock.monotonic())
    await answer.beat()

    assert not answer.is_due(clock.monotonic())
    assert wire.body == b"data: 1\n\n" + COMMENT


async def test_a_comment_that_comes_when_the_answer_has_ended_is_not_sent(
    clock: HandClock, keeper: Keeper
) -> None:
    wire = Wire()
    answer = HttpAnswer(wire.request(), keeper)
    clock.move(10)
    assert answer.is_due(clock.monotonic())
    await answer.finish(b"{}")

    await answer.beat()

    assert wire.body == b"{}"
    assert not answer.is_due(clock.monotonic() + 60)


async def test_a_comment_that_comes_while_the_answer_is_being_sent_is_not_sent(
    clock: HandClock, keeper: Keeper
) -> None:
    wire = Wire()
    answer = HttpAnswer(wire.request(), keeper)
    wire.hold()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(answer.finish(b"{}"))
        await asyncio.sleep(0)
        clock.move(60)

        tasks.create_task(answer.beat())
        await asyncio.sleep(0)
        wire.release()

    assert wire.body == b"{}"


async def test_a_client_that_does_not_read_gets_one_comment_at_a_time(
    clock: HandClock, keeper: Keeper
) -> None:
    wire = Wire()
    answer = HttpAnswer(wire.request(), keeper)
    wire.hold()
    clock.move(10)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(answer.beat())
        await asyncio.sleep(0)
        clock.move(60)

        assert not answer.is_due(clock.monotonic())
        wire.release()

    assert wire.body == COMMENT


async def test_a_client_that_has_left_is_sent_no_comments(clock: HandClock, keeper: Keeper) -> None:
    wire = Wire()
    answer = HttpAnswer(wire.request(), keeper)
    wire.leave()

    await answer.watch()
    clock.move(60)

    assert answer.has_left
    assert not answer.is_due(clock.monotonic())


async def test_what_is_said_after_the_end_is_dropped(keeper: Keeper) -> None:
    wire = Wire()
    answer = HttpAnswer(wire.request(), keeper)
    await answer.event(b"1")
    await answer.close()

    await answer.event(b"2")

    assert wire.body == b"data: 1\n\n"
