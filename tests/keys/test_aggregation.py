"""Each key of `aggregation` and `views` changes what clients are shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.edge_cases.front import META, VERSION, Door, behind, door
from tests.support.scripted import Json, Scripted, scripted

LONG = "x" * 40
DESCRIBED = {
    "name": "echo",
    "description": "As the backend says.",
    "annotations": {"title": "Its own", "openWorldHint": True},
    "inputSchema": {"type": "object"},
}


def offering(*names: str) -> Scripted:
    """Return a backend with these tools."""
    backend = Scripted()
    backend.tools = tuple({"name": name, "inputSchema": {"type": "object"}} for name in names)
    return backend


async def shown(aggregation: Json, *backends: Scripted) -> list[str]:
    """Return the names of the tools that a gateway with this section shows."""
    async with scripted(*backends), door(behind(*backends, aggregation=aggregation)) as gateway:
        return await gateway.tools()


@pytest.mark.config_key("aggregation.conflictResolution")
@pytest.mark.parametrize(
    ("resolution", "names"),
    [("prefix", ["a_echo", "a_mine", "b_echo"]), ("manual", ["mine"])],
)
async def test_names_that_backends_share_are_told_apart_or_dropped(
    resolution: str, names: list[str]
) -> None:
    given = {"conflictResolution": resolution}

    assert await shown(given, offering("echo", "mine"), offering("echo")) == names


@pytest.mark.config_key("aggregation.conflictResolutionConfig.priorityOrder[]")
@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
async def test_the_first_in_order_has_the_name(order: list[str]) -> None:
    a, b = offering("echo"), offering("echo")
    given = {
        "conflictResolution": "priority",
        "conflictResolutionConfig": {"priorityOrder": order},
    }

    async with scripted(a, b), door(behind(a, b, aggregation=given)) as gateway:
        await gateway.call("echo")

    called = [name for name, each in (("a", a), ("b", b)) if each.asked("tools/call")]
    assert called == order[:1]


@pytest.mark.config_key(
    "aggregation.conflictResolutionConfig.prefixFormat",
    "aggregation.conflictResolutionConfig.prefixOnConflict",
)
@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"prefixFormat": "{workload}."}, ["a.echo", "a.mine", "b.echo"]),
        ({"prefixOnConflict": True}, ["a_echo", "b_echo", "mine"]),
    ],
)
async def test_a_prefix_is_written_as_it_is_wanted_and_where(
    settings: Json, names: list[str]
) -> None:
    given = {"conflictResolutionConfig": settings}

    assert await shown(given, offering("echo", "mine"), offering("echo")) == names


@pytest.mark.config_key(
    "aggregation.excludeAllTools",
    "aggregation.defaultToolVisibility",
    "aggregation.tools[].workload",
    "aggregation.tools[].filter[]",
    "aggregation.tools[].excludeAll",
    "aggregation.allowDots",
)
@pytest.mark.parametrize(
    ("aggregation", "names"),
    [
        ({}, ["a_echo", "a_it.s", "b_echo"]),
        ({"excludeAllTools": True}, []),
        ({"tools": [{"workload": "a", "filter": ["echo"]}]}, ["a_echo", "b_echo"]),
        ({"tools": [{"workload": "a", "excludeAll": True}]}, ["b_echo"]),
        ({"tools": [{"workload": "b", "excludeAll": True}]}, ["a_echo", "a_it.s"]),
        ({"defaultToolVisibility": "deny", "tools": [{"workload": "b"}]}, ["b_echo"]),
        ({"allowDots": False}, ["a_echo", "a_it_s_5f364013", "b_echo"]),
    ],
    ids=["none", "excludeAllTools", "filter", "excludeAll", "workload", "deny", "allowDots"],
)
async def test_tools_are_shown_as_far_as_the_section_says(
    aggregation: Json, names: list[str]
) -> None:
    assert await shown(aggregation, offering("echo", "it.s"), offering("echo")) == names


@pytest.mark.config_key("aggregation.maxNameLength")
async def test_a_long_name_is_cut_where_it_is_to_be() -> None:
    (whole,) = await shown({}, offering(LONG))
    (cut,) = await shown({"maxNameLength": 20}, offering(LONG))

    assert whole == f"a_{LONG}"
    assert len(cut) == 20


@pytest.mark.config_key(
    "aggregation.tools[].overrides.*.name",
    "aggregation.tools[].overrides.*.description",
    "aggregation.tools[].overrides.*.annotations.title",
    "aggregation.tools[].overrides.*.annotations.readOnlyHint",
    "aggregation.tools[].overrides.*.annotations.destructiveHint",
    "aggregation.tools[].overrides.*.annotations.idempotentHint",
    "aggregation.tools[].overrides.*.annotations.openWorldHint",
)
@pytest.mark.parametrize(
    ("override", "changed"),
    [
        ({"name": "say"}, {"name": "a_say"}),
        ({"description": "As we say."}, {"description": "As we say."}),
        *(
            ({"annotations": given}, {"annotations": {**DESCRIBED["annotations"], **given}})  # type: ignore[dict-item]
            for given in (
                {"title": "Ours"},
                {"readOnlyHint": True},
                {"destructiveHint": False},
                {"idempotentHint": True},
                {"openWorldHint": False},
            )
        ),
    ],
)
async def test_what_is_overridden_replaces_what_the_backend_says(
    override: Json, changed: Json
) -> None:
    backend = Scripted()
    backend.tools = (DESCRIBED,)
    given = {"tools": [{"workload": "a", "overrides": {"echo": override}}]}

    async with scripted(backend), door(behind(backend, aggregation=given)) as gateway:
        (tool,) = (await gateway.stateless("tools/list")).result["tools"]

    assert tool == {**DESCRIBED, "name": "a_echo", **changed}


VIEW: dict[str, Any] = {"name": "part"}


@pytest.mark.config_key("views[].name", "views[].backends[]", "views[].tools[]")
@pytest.mark.parametrize(
    ("view", "names"),
    [
        ({"backends": ["b"]}, ["b_echo"]),
        ({"tools": ["*_mine"]}, ["a_mine"]),
        ({"name": "other", "tools": ["a_echo", "b_echo"]}, ["a_echo", "b_echo"]),
    ],
    ids=["backends", "tools", "name"],
)
async def test_a_view_shows_its_part_at_its_path(view: Json, names: list[str]) -> None:
    a, b = offering("echo", "mine"), offering("echo")
    given = {**VIEW, **view}

    async with scripted(a, b), door(behind(a, b, views=[given])) as gateway:
        assert await listed(gateway, f"/mcp/v/{given['name']}") == names
        assert len(await gateway.tools()) == 3


async def listed(gateway: Door, path: str) -> list[str]:
    """Return the names of the tools at a path."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    headers = {"mcp-protocol-version": VERSION, "mcp-method": "tools/list"}
    result = (await gateway.post(body, headers, path)).result
    return [each["name"] for each in result["tools"]]
