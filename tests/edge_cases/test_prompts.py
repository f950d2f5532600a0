"""Prompts of the same name live side by side, or one wins and the other is a Problem; the start never fails."""

from __future__ import annotations

from typing import Any

import pytest

from tests.edge_cases.front import Door, behind, door
from tests.support.scripted import Scripted, scripted

ON_CONFLICT = {"conflictResolutionConfig": {"prefixOnConflict": True}}
PRIORITY = {
    "conflictResolution": "priority",
    "conflictResolutionConfig": {"priorityOrder": ["b", "a"]},
}


async def prompts(gateway: Door) -> list[str]:
    listed = (await gateway.stateless("prompts/list")).result["prompts"]
    return [prompt["name"] for prompt in listed]


async def giver(gateway: Door, name: str) -> str:
    """Return the URL of the backend that gives a prompt."""
    seen = await gateway.stateless("prompts/get", {"name": name})
    found: str = seen.result["messages"][0]["content"]["text"]
    return found


def problems(gateway: Door) -> set[tuple[str, str]]:
    found = gateway.gateway.views.catalog.value.problems
    return {(problem.key.name, problem.reason) for problem in found}


@pytest.mark.parametrize(
    ("aggregation", "names"),
    [
        pytest.param({}, ["a_documentation", "b_documentation"], id="prefix"),
        pytest.param(
            ON_CONFLICT, ["a_documentation", "b_documentation", "only"], id="prefixOnConflict"
        ),
        pytest.param(
            {"conflictResolution": "manual"}, ["a_documentation", "b_documentation"], id="manual"
        ),
    ],
)
async def test_both_can_be_got_by_their_prefixed_names(
    aggregation: dict[str, Any], names: list[str]
) -> None:
    a, b = Scripted(), Scripted()
    a.prompts, b.prompts = ("documentation",), ("documentation",)
    if "only" in names:
        b.prompts = ("documentation", "only")

    async with scripted(a, b), door(behind(a, b, aggregation=aggregation)) as gateway:
        assert await prompts(gateway) == names
        assert await giver(gateway, "a_documentation") == a.url
        assert await giver(gateway, "b_documentation") == b.url
        assert a.asked("prompts/get")[0].params["name"] == "documentation"


async def test_under_priority_the_first_in_order_wins_and_the_other_is_a_problem() -> None:
    a, b = Scripted(), Scripted()
    a.prompts, b.prompts = ("documentation", "mine"), ("documentation",)

    async with scripted(a, b), door(behind(a, b, aggregation=PRIORITY)) as gateway:
        assert await prompts(gateway) == ["documentation", "mine"]
        assert await giver(gateway, "documentation") == b.url
        assert ("a", "NameShadowed") in problems(gateway)


async def test_a_prompt_and_a_tool_of_one_name_are_no_conflict() -> None:
    a, b = Scripted(), Scripted()
    a.prompts, b.prompts = ("echo",), ()
    a.tools = ()

    async with scripted(a, b), door(behind(a, b, aggregation=ON_CONFLICT)) as gateway:
        assert await prompts(gateway) == ["echo"]
        assert await gateway.tools() == ["echo"]


async def test_an_unknown_prompt_is_told_as_such() -> None:
    a = Scripted()

    async with scripted(a), door(behind(a)) as gateway:
        seen = await gateway.stateless("prompts/get", {"name": "documentation"})

    assert (seen.status, seen.code) == (400, -32602)
