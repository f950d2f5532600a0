"""One backend that is dead, hangs or is slow delays nobody else."""

from __future__ import annotations

import asyncio

import pytest

from tests.journeys.pairs import backend, client, in_both_fronts
from tests.support.backends import Fake, serving
from tests.support.clients import named, sessioned, words
from tests.support.gateways import config, gateway_of
from tests.support.ports import lasting_port
from tests.support.sessioned_backend import SessionedFake
from tests.support.waiting import until

# Far less than a backend that hangs is waited for.
AT_ONCE_SECONDS = 4.0


def dead() -> Fake:
    """A backend on whose port nobody listens."""
    fake = SessionedFake()
    fake.port = lasting_port()
    return fake


@in_both_fronts
async def test_a_hanging_backend_delays_neither_initialize_nor_lists(front: str) -> None:
    good, hanging = SessionedFake(), SessionedFake()
    hanging.hold("server/discover")
    hanging.hold("initialize")
    async with serving(good, hanging), gateway_of(config(good, hanging), awaited=False) as served:
        async with client(front, served.url) as caller:
            await served.shows("echo")

            async with asyncio.timeout(AT_ONCE_SECONDS):
                assert await caller.tools() == ["echo"]
                assert words(await caller.ask("tools/call", named("echo"))) == "{}"
                assert await caller.ask("prompts/list")

            states = {each["name"]: each["state"] for each in served.status()["backends"]}
            assert states == {"a": "healthy", "b": "connecting"}
        await served.is_idle()


async def test_a_client_may_begin_before_any_backend_has_answered() -> None:
    fake = SessionedFake()
    gate = fake.hold("server/discover")
    async with serving(fake), gateway_of(config(fake), awaited=False) as served:
        async with sessioned(served.url) as caller:
            async with asyncio.timeout(AT_ONCE_SECONDS):
                assert await caller.tools() == []
            stream = await caller.listen()
            gate.set()

            await stream.heard("notifications/tools/list_changed")
            assert await caller.tools() == ["echo"]
        await served.is_idle()


async def test_a_dead_backend_is_failing_and_the_others_are_served() -> None:
    good, lost = SessionedFake(), dead()
    async with (
        serving(good),
        gateway_of(config(good, lost)) as served,
        sessioned(served.url) as caller,
    ):
        shown = served.status()["backends"][1]

        assert await caller.tools() == ["echo"]
        assert (shown["state"], shown["consecutiveFailures"]) == ("degraded", 1)
        failure = shown["lastFailure"]
        assert (failure["stage"], failure["reason"]) == ("connect", "Unreachable")
        assert "127.0.0.1" not in failure["message"]


async def test_a_backend_that_comes_up_late_is_found() -> None:
    late = dead()
    async with (
        gateway_of(config(late)) as served,
        sessioned(served.url) as caller,
    ):
        stream = await caller.listen()
        await late.start(late.port)
        try:
            await stream.heard("notifications/tools/list_changed")
            assert await caller.tools() == ["echo"]
        finally:
            await late.stop()


@pytest.mark.parametrize("back", ["sessioned", "stateless"])
async def test_calls_past_the_bound_fail_at_once_and_others_go_on(back: str) -> None:
    async def waits(_: object) -> dict[str, object]:
        await go_on.wait()
        return {"content": []}

    go_on = asyncio.Event()
    fake, other = backend(back, waits=waits), SessionedFake()
    async with serving(fake, other), gateway_of(config(fake, other)) as served:
        async with sessioned(served.url) as caller:
            calls = [caller.call("waits") for _ in range(256)]
            await fake.first("tools/call", 256)

            error = await caller.refused("tools/call", named("waits"))
            elsewhere = await caller.ask("tools/call", named("b_echo"))
            go_on.set()

            assert error["code"] == -32603
            assert error["data"] == {"backend": "a", "reason": "Overloaded", "retryAfterSeconds": 1}
            assert words(elsewhere) == "{}"
            ends = [await (await call).end() for call in calls]
            assert all("result" in end for end in ends)
        await served.is_idle()


async def test_a_backend_that_is_slow_to_take_initialized_holds_up_its_own_calls_alone() -> None:
    slow, good = SessionedFake(), SessionedFake()
    async with serving(slow, good), gateway_of(config(slow, good)) as served:
        async with sessioned(served.url) as caller:
            gate = slow.hold("notifications/initialized")
            waiting = caller.call("a_echo")
            await until(lambda: len(slow.asked("notifications/initialized")) == 2)

            async with asyncio.timeout(AT_ONCE_SECONDS):
                assert await caller.ask("tools/call", named("b_echo"))
            gate.set()

            assert "result" in await (await waiting).end()
        await served.is_idle()


async def test_a_list_that_fails_keeps_what_was_listed_before() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        gate = fake.hold("tools/list")
        fake.tell("notifications/tools/list_changed")
        await fake.first("tools/list", 2)

        assert await caller.tools() == ["echo"]
        assert words(await caller.ask("tools/call", named("echo"))) == "{}"
        gate.set()
