"""A change of a list, wherever it begins, is heard by everybody who listens, in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.journeys.pairs import at_both_backs, backend
from tests.support.backends import Fake, serving
from tests.support.clients import sessioned, stateless
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import echo
from tests.support.waiting import until

TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"


def add_tool(fake: Fake) -> str:
    fake.shelf.tools["more"] = echo
    return TOOLS


def remove_tool(fake: Fake) -> str:
    del fake.shelf.tools["echo"]
    return TOOLS


def change_document(fake: Fake) -> str:
    fake.shelf.descriptions["echo"] = "It says something else now."
    return TOOLS


def add_prompt(fake: Fake) -> str:
    fake.shelf.prompts.append("greet")
    return PROMPTS


def add_resource(fake: Fake) -> str:
    fake.shelf.resources["note://1"] = "a note"
    return RESOURCES


def add_template(fake: Fake) -> str:
    fake.shelf.templates.append("note://{id}")
    return RESOURCES


@at_both_backs
@pytest.mark.parametrize(
    "change",
    [add_tool, remove_tool, change_document, add_prompt, add_resource, add_template],
    ids=lambda change: change.__name__,
)
async def test_every_stream_of_both_eras_hears_of_a_change(
    back: str, change: Callable[[Fake], str]
) -> None:
    fake = backend(back)
    async with serving(fake), gateway_of(config(fake)) as served:
        async with (
            sessioned(served.url) as one,
            sessioned(served.url) as two,
            stateless(served.url) as three,
        ):
            streams = [await one.listen(), await two.listen()]
            streams.append(
                await three.listen(
                    "mine",
                    toolsListChanged=True,
                    promptsListChanged=True,
                    resourcesListChanged=True,
                )
            )

            method = change(fake)
            fake.tell(method)

            heard = [await stream.heard(method) for stream in streams]
            assert heard[2]["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "mine"}
            assert not any(stream.notes for stream in streams[:2])
        await served.is_idle()


@at_both_backs
async def test_a_changed_list_that_is_the_same_to_clients_is_not_told(back: str) -> None:
    fake = backend(back)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        stream = await caller.listen()
        fake.tell(TOOLS)
        await fake.first("tools/list", 2)

        fake.shelf.prompts.append("greet")
        fake.tell(PROMPTS)

        await stream.heard(PROMPTS)
        assert stream.notes == []


@at_both_backs
async def test_only_the_list_that_changed_is_asked_for_again(back: str) -> None:
    fake = backend(back)
    async with serving(fake), gateway_of(config(fake)) as served:
        add_tool(fake)
        fake.tell(TOOLS)
        await served.shows("echo", "more")

        assert len(fake.asked("tools/list")) == 2
        assert len(fake.asked("resources/list")) == 1


async def test_a_subscription_hears_only_what_it_asked_for() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        stateless(served.url) as caller,
    ):
        stream = await caller.listen(promptsListChanged=True, toolsListChanged=False)
        assert stream.notes[0]["params"]["notifications"] == {"promptsListChanged": True}

        fake.tell(add_tool(fake))
        await served.shows("echo", "more")
        fake.tell(add_prompt(fake))

        assert (await stream.next() or {})["method"] == PROMPTS


async def test_a_client_that_opens_its_stream_later_hears_then() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        assert await caller.tools() == ["echo"]
        fake.tell(add_tool(fake))
        await served.shows("echo", "more")

        stream = await caller.listen()

        await stream.heard(TOOLS)


async def test_a_client_that_has_seen_the_change_in_a_list_is_not_told_of_it() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        fake.tell(add_tool(fake))
        await served.shows("echo", "more")
        assert await caller.tools() == ["echo", "more"]

        stream = await caller.listen()
        fake.tell(add_prompt(fake))

        assert (await stream.next() or {})["method"] == PROMPTS


async def test_a_message_goes_on_one_of_several_streams_of_a_session() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        older, newer = await caller.listen(), await caller.listen()
        fake.tell(add_tool(fake))
        await newer.heard(TOOLS)
        newer.close()
        await until(lambda: len(served.keeper) == 1)

        fake.tell(add_prompt(fake))

        assert (await older.next() or {})["method"] == PROMPTS


async def test_many_changes_at_once_are_told_together() -> None:
    fakes = [SessionedFake() for _ in range(5)]
    async with (
        serving(*fakes),
        gateway_of(config(*fakes)) as served,
        sessioned(served.url) as caller,
    ):
        stream = await caller.listen()
        for fake in fakes:
            for number in range(10):
                fake.shelf.tools[f"more_{number}"] = echo
                fake.tell(TOOLS)
        await until(lambda: len(served.gateway.views.catalog.value.tools) == 55)
        fakes[0].tell(add_prompt(fakes[0]))
        await stream.heard(PROMPTS)

        assert 1 <= len(stream.notes) <= 5
        assert all(len(fake.asked("tools/list")) <= 4 for fake in fakes)


@at_both_backs
async def test_a_backend_without_a_stream_of_changes_is_served_all_the_same(back: str) -> None:
    fake = backend(back)
    if isinstance(fake, SessionedFake):
        fake.has_stream = False
    else:
        fake.hold("subscriptions/listen")
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        assert await caller.tools() == ["echo"]


@at_both_backs
async def test_what_changed_while_the_stream_was_away_is_found_when_it_is_back(back: str) -> None:
    fake = backend(back)
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        sessioned(served.url) as caller,
    ):
        stream = await caller.listen()
        await until(lambda: len(fake._streams) == 1)
        add_tool(fake)

        fake.end_streams()

        await stream.heard(TOOLS)
        assert await caller.tools() == ["echo", "more"]


async def test_a_lost_backend_is_found_again_and_its_tools_stay_listed_meanwhile() -> None:
    before, after = SessionedFake(), SessionedFake(more=echo)
    async with (
        serving(before),
        gateway_of(config(before)) as served,
        sessioned(served.url) as caller,
    ):
        stream = await caller.listen()
        await before.stop()
        await until(lambda: served.status()["backends"][0]["state"] == "degraded")
        assert await caller.tools() == ["echo"]
        error = await caller.refused("tools/call", {"name": "echo"})
        assert error["data"] == {"backend": "a", "reason": "Unreachable"}

        await after.start(before.port)

        async with asyncio.timeout(9):
            await stream.heard(TOOLS)
        assert await caller.tools() == ["echo", "more"]
        assert served.status()["backends"][0]["state"] == "healthy"
        await after.stop()
