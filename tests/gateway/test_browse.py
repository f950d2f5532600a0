from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.gateway.builders import contribution, document, inventory
from tests.support.virtual_time import HandClock
from tests.support.waiting import until
from vmcp.catalog.entries import Kind
from vmcp.gateway.browse import Browser, Query, Shelf
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.registry import Registry
from vmcp.gateway.views import Views
from vmcp.latest import Latest
from vmcp.model.inventory import Inventory, Tool
from vmcp.model.rules import Conflict, Rules, ToolRules
from vmcp.model.snapshot import Contribution


class Here:
    """A browser over a gateway of values alone."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.registry = Registry()
        self.inventories = Inventories(HandClock())
        self.views = Views(self.registry.snapshot, self.inventories.known)
        self.browser = Browser(self.registry, self.inventories, self.views)
        found = contribution("test", "a", "b", rules=rules)
        self.source: Latest[Contribution] = Latest(found)

    async def listed(self, *inventories: Inventory) -> None:
        for each in inventories:
            self.inventories.listed(each)
        keys = {each.backend for each in inventories}
        await until(lambda: keys <= self.views.catalog.value.peers.keys())

    async def page(
        self,
        search: str = "",
        shelf: Shelf = Shelf.LISTED,
        kind: Kind | None = None,
        after: int = 0,
    ) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            await self.browser.page(Query(shelf, kind, search, after))
        )
        return found

    async def names(self, search: str = "", **more: Any) -> list[str]:
        return [row["name"] for row in (await self.page(search, **more))["rows"]]


@pytest.fixture
def rules() -> Rules:
    return Rules(conflict=Conflict.PREFIX_ON_CONFLICT)


@pytest.fixture
async def here(rules: Rules) -> AsyncIterator[Here]:
    made = Here(rules)
    async with asyncio.TaskGroup() as tasks:
        works = [
            tasks.create_task(made.registry.follow(made.source)),
            tasks.create_task(made.views.run()),
        ]
        await until(lambda: made.registry.snapshot.value.backends)
        yield made
        for work in works:
            work.cancel()


async def test_before_anything_is_known_every_list_is_empty(here: Here) -> None:
    assert await here.page() == {
        "revision": 1,
        "counts": {"listed": 0, "left-out": 0, "problems": 0},
        "matching": 0,
        "rows": [],
        "next": None,
    }


async def test_a_row_tells_the_public_name_the_backend_and_its_own_name(here: Here) -> None:
    await here.listed(inventory("a", "x", description="Adds."), inventory("b", "x"))

    row, _ = (await here.page())["rows"]

    assert row == {
        "kind": "tool",
        "name": "a_x",
        "backend": "a",
        "ownName": "x",
        "description": "Adds.",
    }


@pytest.mark.parametrize(
    ("search", "names"),
    [
        ("", ["ADD", "sub"]),
        ("add", ["ADD"]),
        ("taKES away", ["sub"]),
        ("away takes", ["sub"]),
        ("b takes", ["sub"]),
        ("add takes", []),
    ],
    ids=["nothing", "case", "description", "any order", "backend", "all words"],
)
async def test_all_words_must_be_found_somewhere(here: Here, search: str, names: list[str]) -> None:
    sub = inventory("b", "sub", description="Takes one number away.")
    await here.listed(inventory("a", "ADD"), sub)

    assert await here.names(search) == names


async def test_a_kind_alone_can_be_asked_for(here: Here) -> None:
    await here.listed(inventory("a", "t", prompts=["p"], resources=["u:r"], templates=["u:{t}"]))

    assert await here.names() == ["t", "p", "u:r", "u:{t}"]
    assert [await here.names(kind=kind) for kind in Kind] == [["t"], ["p"], ["u:r"], ["u:{t}"]]


async def test_a_long_list_comes_in_pages(here: Here) -> None:
    names = [f"t{number:03}" for number in range(250)]
    await here.listed(inventory("a", *names))

    pages = [await here.page(after=after) for after in (0, 100, 200)]

    assert [page["next"] for page in pages] == [100, 200, None]
    assert [row["name"] for page in pages for row in page["rows"]] == names
    assert {page["matching"] for page in pages} == {250}
    assert (await here.page(after=10**9))["rows"] == []


@pytest.mark.parametrize(
    "rules", [Rules(Conflict.MANUAL, tools={"a": ToolRules(filter=frozenset(("x", "gone")))})]
)
async def test_what_is_left_out_and_what_is_wrong_can_be_looked_through(here: Here) -> None:
    await here.listed(inventory("a", "x", "y"), inventory("b", "x"))

    left_out = (await here.page(shelf=Shelf.LEFT_OUT))["rows"]
    problems = (await here.page("filter's", shelf=Shelf.PROBLEMS))["rows"]

    assert [(row["backend"], row["name"]) for row in left_out] == [
        ("a", "x"),
        ("a", "y"),
        ("b", "x"),
    ]
    assert left_out[1]["why"] == "The filter of this backend does not name it."
    assert [(row["object"], row["reason"]) for row in problems] == [
        ("Backend/a", "FilterUnmatched")
    ]


async def test_the_revision_changes_with_the_catalog_and_not_without(here: Here) -> None:
    await here.listed(inventory("a", "x"))
    before = here.browser.revision()
    await here.page()
    assert here.browser.revision() == before

    await here.listed(inventory("b", "y"))

    assert here.browser.revision() > before
    assert await here.names() == ["x", "y"]


async def test_texts_are_cut_and_what_is_no_text_is_left_out(here: Here) -> None:
    strange = [
        Tool("long", document({"name": "long", "description": "x" * 5000})),
        Tool("number", document({"name": "number", "description": 5, "title": {}})),
        Tool("half\ud800", document({"name": "half", "description": "\ud800"})),
    ]
    found = inventory("a")
    await here.listed(Inventory(found.backend, found.peer, tools=tuple(strange)))

    rows = {row["name"]: row for row in (await here.page())["rows"]}

    assert rows["long"]["description"] == "x" * 1000 + "…"
    assert rows["number"].keys() == {"kind", "name", "backend"}
    assert any(row.get("ownName") == "half?" for row in rows.values())


async def test_many_can_look_at_once(here: Here) -> None:
    await here.listed(inventory("a", *[f"t{number}" for number in range(2000)]))

    async with asyncio.TaskGroup() as tasks:
        looks = [tasks.create_task(here.page(f"t{number}")) for number in range(20)]

    assert all(look.result()["matching"] for look in looks)
