"""The era of a backend: found once, remembered, and corrected when the backend is another one now."""

from __future__ import annotations

import pytest

from tests.journeys.pairs import backend, client, in_both_fronts
from tests.support.backends import replacing, serving
from tests.support.clients import named, sessioned, words
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import echo
from tests.support.waiting import until

REPLACED = pytest.mark.parametrize(
    ("old", "new"), [("sessioned", "stateless"), ("stateless", "sessioned")]
)


def era(served: Served) -> object:
    return served.status()["backends"][0]["era"]


@pytest.mark.parametrize("back", ["sessioned", "stateless"])
async def test_a_backend_is_asked_for_its_era_once(back: str) -> None:
    fake = backend(back)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        for _ in range(3):
            await caller.ask("tools/call", named("echo"))

    assert len(fake.asked("server/discover")) == 1


@in_both_fronts
@REPLACED
async def test_a_call_to_a_backend_that_changed_its_era_is_answered(
    front: str, old: str, new: str
) -> None:
    before, after = backend(old), backend(new)
    async with serving(before), gateway_of(config(before)) as served:
        async with client(front, served.url) as caller:
            await caller.ask("tools/call", named("echo"))
            async with replacing(before, after):
                result = await caller.ask("tools/call", named("echo"))

                assert words(result) == "{}"
                assert ("resultType" in result) == (front == "stateless")
                assert len(after.finished) == 1
                await until(lambda: era(served) == new)
        await served.is_idle()


@in_both_fronts
@REPLACED
async def test_a_backend_that_changed_its_era_is_followed_without_a_call(
    front: str, old: str, new: str
) -> None:
    before, after = backend(old), backend(new, added=echo)
    async with (
        serving(before),
        gateway_of(config(before)) as served,
        client(front, served.url) as caller,
        replacing(before, after),
    ):
        await until(lambda: era(served) == new)
        await served.shows("added", "echo")

        assert await caller.tools() == ["added", "echo"]


async def test_a_backend_that_begins_to_give_out_sessions_is_followed() -> None:
    before, after = SessionedFake(), SessionedFake()
    before.gives_ids = False
    async with (
        serving(before),
        gateway_of(config(before)) as served,
        sessioned(served.url) as caller,
    ):
        await caller.ask("tools/call", named("echo"))
        async with replacing(before, after):
            result = await caller.ask("tools/call", named("echo"))

            assert words(result) == "{}"
            assert len(after.finished) == 1


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
async def test_a_method_of_the_later_era_is_unknown_in_a_session(method: str) -> None:
    fake = backend("stateless")
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        before = len(fake.heard)

        error = await caller.refused(method, {"notifications": {}})

        assert error["code"] == -32601
        assert len(fake.heard) == before
