from __future__ import annotations

import asyncio

from vmcp.gateway.outbox import Outbox


async def drained(outbox: Outbox) -> list[bytes]:
    found = []
    while (message := await outbox.get()) is not None:
        found.append(message)
    return found


async def test_messages_come_in_their_order_and_then_the_end() -> None:
    outbox = Outbox()
    for message in (b"1", b"2", b"3"):
        assert outbox.put(message)
    outbox.close()

    assert await drained(outbox) == [b"1", b"2", b"3"]


async def test_a_reader_that_waits_is_woken_by_a_message_and_by_the_end() -> None:
    outbox = Outbox()
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(drained(outbox))
        await asyncio.sleep(0)
        outbox.put(b"1")
        await asyncio.sleep(0)
        outbox.close()

    assert reading.result() == [b"1"]


async def test_a_closed_outbox_takes_nothing() -> None:
    outbox = Outbox()
    outbox.close()

    assert not outbox.put(b"1")
    assert await outbox.get() is None


async def test_too_many_messages_close_it_and_those_that_wait_are_kept() -> None:
    outbox = Outbox()

    taken = [outbox.put(b"%d" % number) for number in range(300)]

    assert taken == [True] * 256 + [False] * 44
    assert outbox.is_closed
    assert len(await drained(outbox)) == 256


async def test_too_many_bytes_close_it() -> None:
    outbox, half = Outbox(), b"x" * 2**19

    assert [outbox.put(half) for _ in range(3)] == [True, True, False]
    assert outbox.is_closed


async def test_one_message_fits_however_large_it_is() -> None:
    outbox = Outbox()

    assert outbox.put(b"x" * 2**22)
    assert not outbox.put(b"y")


async def test_what_was_read_makes_room() -> None:
    outbox, large = Outbox(), b"x" * 2**20
    for _ in range(5):
        assert outbox.put(large)
        assert await outbox.get() == large

    assert not outbox.is_closed
