from __future__ import annotations

from tests.catalog.builders import (
    catalog,
    document,
    key,
    lists,
    messages,
    reasons,
    routes,
    snapshot,
    tool,
)
from vmcp.catalog.build import build
from vmcp.model.inventory import Tool
from vmcp.model.rules import Conflict, Rules, ToolOverride, ToolRules

BARE = Conflict.MANUAL


def ruled(own: ToolRules, **others: object) -> Rules:
    return Rules(conflict=BARE, tools={"a": own}, **others)


def test_a_filter_goes_by_the_name_after_the_override_and_before_the_prefix() -> None:
    own = ToolRules(
        filter=frozenset({"fetch", "list"}), overrides={"get": ToolOverride(name="fetch")}
    )

    found = catalog({"a": lists(tools=["get", "list", "drop"])}, Rules(tools={"a": own}))

    assert routes(found.tools) == {"a_fetch": ("a", "get"), "a_list": ("a", "list")}
    assert found.problems == ()


def test_an_override_swaps_the_names_of_two_tools() -> None:
    own = ToolRules(overrides={"x": ToolOverride(name="y"), "y": ToolOverride(name="x")})

    found = catalog({"a": lists(tools=["x", "y"])}, ruled(own))

    assert routes(found.tools) == {"x": ("a", "y"), "y": ("a", "x")}
    assert found.problems == ()


def test_overrides_reach_the_document_that_clients_see() -> None:
    own = ToolRules(
        overrides={
            "x": ToolOverride(name="y", description="new", annotations={"title": b'"T"'}),
        }
    )

    found = catalog({"a": lists(tools=[tool("x", description="old")])}, ruled(own))

    entry = found.tool("y")
    assert entry is not None
    assert entry.document == document(
        name="y", inputSchema={"type": "object"}, description="new", annotations=b'{"title":"T"}'
    )
    assert entry.own_json == b'"x"'


def test_an_empty_filter_lets_nothing_through() -> None:
    found = catalog({"a": lists(tools=["x"])}, ruled(ToolRules(filter=frozenset())))

    assert len(found.tools) == 0
    assert found.problems == ()


def test_exclusion_hides_the_tools_of_one_backend_and_nothing_else() -> None:
    listed = {"a": lists(tools=["x"], prompts=["p"], resources=["r:1"]), "b": lists(tools=["y"])}

    found = catalog(listed, ruled(ToolRules(exclude_all=True)))

    assert routes(found.tools) == {"y": ("b", "y")}
    assert len(found.prompts) == 1
    assert len(found.resources) == 1


def test_excluding_all_tools_leaves_prompts_resources_and_templates() -> None:
    listed = {"a": lists(tools=["x"], prompts=["p"], resources=["r:1"], templates=["r:{id}"])}

    found = catalog(listed, Rules(exclude_all_tools=True))

    shown = [len(each) for each in (found.tools, found.prompts, found.resources, found.templates)]
    assert shown == [0, 1, 1, 1]


def test_with_deny_only_backends_that_the_rules_name_show_tools() -> None:
    listed = {
        "a": lists(tools=["x", "y"]),
        "b": lists(tools=["z"], prompts=["p"]),
        "c": lists(tools=["w"]),
    }
    rules = Rules(
        conflict=BARE,
        show_unnamed=False,
        tools={"a": ToolRules(filter=frozenset({"x"})), "c": ToolRules(exclude_all=True)},
    )

    found = catalog(listed, rules)

    assert routes(found.tools) == {"x": ("a", "x")}
    assert routes(found.prompts) == {"b_p": ("b", "p")}


def test_hidden_tools_take_no_name_from_others() -> None:
    listed = {"a": lists(tools=["x"]), "b": lists(tools=["x"])}

    found = catalog(listed, ruled(ToolRules(exclude_all=True)))

    assert routes(found.tools) == {"x": ("b", "x")}
    assert found.problems == ()


def test_a_tool_that_a_backend_lists_twice_is_the_first_of_them() -> None:
    twice = [tool("x", description="1"), tool("x", description="2"), tool("x", description="3")]

    found = catalog({"a": lists(tools=twice)}, Rules(conflict=BARE))

    entry = found.tool("x")
    assert entry is not None
    assert entry.document.get(b'"description"') == b'"1"'
    assert reasons(found) == [("a", "NameDuplicated")]


def test_a_tool_cannot_take_the_name_that_an_override_gave_to_another() -> None:
    own = ToolRules(overrides={"search_v2": ToolOverride(name="search")})

    found = catalog({"a": lists(tools=["search", "search_v2"])}, ruled(own))

    assert routes(found.tools) == {"search": ("a", "search_v2")}
    assert messages(found) == [
        (
            "Tool 'search' of backend 'a' is not listed: after overrides it is 'search', and so is"
            " tool 'search_v2' of the same backend; give one of them another name."
        )
    ]


def test_of_two_overrides_to_one_name_the_first_own_name_wins_in_any_order() -> None:
    own = ToolRules(overrides={"x": ToolOverride(name="z"), "y": ToolOverride(name="z")})

    found = [catalog({"a": lists(tools=order)}, ruled(own)) for order in (["x", "y"], ["y", "x"])]

    assert [routes(each.tools) for each in found] == [{"z": ("a", "x")}] * 2
    assert reasons(found[0]) == [("a", "OverrideCollides")]


def test_overrides_and_filters_that_match_nothing_are_told() -> None:
    own = ToolRules(
        filter=frozenset({"x", "get"}),
        overrides={"get": ToolOverride(name="fetch"), "gone": ToolOverride(name="b")},
    )

    found = catalog({"a": lists(tools=["x", "get"])}, ruled(own))

    assert messages(found) == [
        (
            "The filter's 'get' matches no tool of backend 'a'; filters go by names after overrides"
            " and before the prefix."
        ),
        (
            "The override of 'gone' matches no tool of backend 'a'; overrides go by the names that"
            " the backend itself gives."
        ),
    ]


def test_rules_of_a_backend_that_is_not_listed_yet_are_not_called_wrong() -> None:
    rules = ruled(ToolRules(filter=frozenset({"x"}), overrides={"y": ToolOverride(name="z")}))

    assert build(snapshot(["a"], rules), {}).problems == ()


def test_annotations_that_cannot_be_split_stay_and_the_rest_is_overridden() -> None:
    own = ToolRules(overrides={"x": ToolOverride(description="new", annotations={"title": b'"T"'})})

    found = catalog({"a": lists(tools=[tool("x", annotations=b"[1]")])}, ruled(own))

    entry = found.tool("x")
    assert entry is not None
    assert entry.document.get(b'"annotations"') == b"[1]"
    assert entry.document.get(b'"description"') == b'"new"'
    assert found.problems[0].key == key("a")
    assert found.problems[0].reason == "AnnotationsUnreadable"


def test_what_routing_needs_of_a_tool_comes_along() -> None:
    headers = (("Region", ("region",), "string"),)
    listed = Tool("x", document(name="x"), param_headers=headers, object_output=False)

    entry = catalog({"a": lists(tools=[listed])}).tool("a_x")

    assert entry is not None
    assert entry.param_headers == headers
    assert not entry.object_output
    assert entry.renamed
