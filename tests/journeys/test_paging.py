"""Long lists: given out in pages that a change of the list does not spoil, and read in pages."""

from __future__ import annotations

from tests.journeys.pairs import client, in_both_fronts
from tests.support.backends import serving
from tests.support.clients import Client
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Json, echo

MANY = [f"tool_{number:04}" for number in range(2500)]


def many() -> SessionedFake:
    fake = SessionedFake()
    fake.shelf.tools = dict.fromkeys(MANY, echo)
    return fake


async def pages(caller: Client, page: Json) -> list[str]:
    """Return the names on a page and all that follow."""
    names = [tool["name"] for tool in page["tools"]]
    while (cursor := page.get("nextCursor")) is not None:
        page = await caller.ask("tools/list", {"cursor": cursor})
        names += [tool["name"] for tool in page["tools"]]
    return names


@in_both_fronts
async def test_a_long_list_comes_in_pages_and_is_whole(front: str) -> None:
    fake = many()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        first = await caller.ask("tools/list")

        assert len(first["tools"]) == 1000
        assert await pages(caller, first) == MANY


@in_both_fronts
async def test_a_cursor_survives_a_change_of_the_list(front: str) -> None:
    fake = many()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        first = await caller.ask("tools/list")
        # The last one of the page goes, one comes before it and one after it.
        del fake.shelf.tools["tool_0999"]
        fake.shelf.tools |= {"tool_0000_a": echo, "tool_2400_a": echo}
        fake.tell("notifications/tools/list_changed")
        await served.shows(*fake.shelf.tools)

        names = await pages(caller, first)

        assert names == sorted({*MANY, "tool_2400_a"})


@in_both_fronts
async def test_a_cursor_survives_other_rules(front: str) -> None:
    fake = many()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        first = await caller.ask("tools/list")
        shown = {name: {"name": f"z_{name}"} for name in MANY[1990:]}
        changed = config(fake)
        changed["aggregation"]["tools"] = [{"workload": "a", "overrides": shown}]
        served.apply(changed)
        await served.shows(*MANY[:1990], *(f"z_{name}" for name in MANY[1990:]))

        names = await pages(caller, first)

        assert names == [*MANY[:1990], *(f"z_{name}" for name in MANY[1990:])]


@in_both_fronts
async def test_a_cursor_that_nobody_gave_out_is_refused(front: str) -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(front, served.url) as caller,
    ):
        for cursor in ("%%%", 7, {"a": 1}):
            assert (await caller.refused("tools/list", {"cursor": cursor}))["code"] == -32602


async def test_the_pages_of_a_backend_are_all_read() -> None:
    fake = many()
    fake.shelf.page_size = 40
    async with serving(fake), gateway_of(config(fake)) as served:
        assert served.status()["backends"][0]["tools"] == 2500
        assert len(fake.asked("tools/list")) == 63
