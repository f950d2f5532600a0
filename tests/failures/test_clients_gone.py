"""Clients that vanish, in each phase: calls end as the era has it, nothing is kept, others are served."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.failures.leaving import BOTH, LARGE, LEAVINGS, SESSIONED, UNREAD, Leaving, Wire, unread
from tests.journeys.pairs import backend, client
from tests.support.backends import Fake, serving
from tests.support.clients import named, words
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text

QUESTION = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
ELICITATION = {"elicitation": {"form": {}}}

CASES = [
    pytest.param(leaving, front, back, id=f"{leaving.name}: {front} to {back}")
    for leaving in LEAVINGS
    for front in leaving.eras
    for back in BOTH
]


async def waits(_: Invocation) -> Json:
    return await asyncio.get_running_loop().create_future()


async def tells(invocation: Invocation) -> Json:
    invocation.progress(1)
    return await waits(invocation)


async def large(_: Invocation) -> Json:
    return text("x" * LARGE)


def fake_of(back: str) -> Fake:
    """Return a backend with tools that last, tell, ask and say much."""

    async def asks(invocation: Invocation) -> Json:
        if back == SESSIONED:
            return text(str(await invocation.ask("elicitation/create", QUESTION)))
        wanted = {"who": {"method": "elicitation/create", "params": QUESTION}}
        return {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}

    return backend(back, waits=waits, tells=tells, asks=asks, large=large)


@pytest.mark.parametrize(("leaving", "front", "back"), CASES)
async def test_a_client_that_vanishes_leaves_nothing(
    leaving: Leaving, front: str, back: str
) -> None:
    fake, good = fake_of(back), SessionedFake()
    short = {"timeouts": {"perWorkload": {"a": "2s"}}}
    async with (
        serving(fake, good),
        gateway_of(config(fake, good, operational=short)) as served,
    ):
        async with (
            client(front, served.url) as other,
            client(front, served.url, **ELICITATION) as caller,
        ):
            wire = await Wire.to(caller)
            await leaving.go(wire)
            if leaving.go.__name__ == "while_waiting":
                await fake.first("tools/call")

            wire.vanish()

            assert words(await other.ask("tools/call", named("b_echo"))) == "{}"
            if leaving.is_cancelled:
                assert await fake.cancelled.first(bool) in ("waits", "tells")
        if leaving.is_parked and back == SESSIONED:
            assert len(served.gateway.parked) == 1
        else:
            await served.is_idle()


@pytest.mark.parametrize("front", BOTH)
async def test_clients_that_never_read_hold_up_nobody(front: str) -> None:
    fake = fake_of(SESSIONED)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(front, served.url) as caller, client(front, served.url) as other:
            wires = [await Wire.to(caller) for _ in range(UNREAD)]
            async with asyncio.TaskGroup() as tasks:
                for wire in wires:
                    tasks.create_task(unread(wire))

            async with asyncio.timeout(10):
                assert words(await other.ask("tools/call", named("echo"))) == "{}"

            for wire in wires:
                wire.vanish()
        await served.is_idle()


async def test_a_client_that_sends_its_request_byte_by_byte_is_served() -> None:
    fake = fake_of(SESSIONED)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with client(SESSIONED, served.url) as caller:
            wire: Any = await Wire.to(caller)
            for byte in wire.call("echo"):
                wire.write(bytes((byte,)))
                await wire._writer.drain()

            await wire.read_until(b'"id":1')

            wire.close()
        await served.is_idle()
