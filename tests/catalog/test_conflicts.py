from __future__ import annotations

import pytest

from tests.catalog.builders import catalog, lists, messages, reasons, routes
from vmcp.model.rules import Conflict, Rules

SHARED = {"a": lists(tools=["x", "only_a"]), "b": lists(tools=["x"]), "c": lists(tools=["only_c"])}
TWO_PROMPTS = {"a": lists(prompts=["documentation"]), "b": lists(prompts=["documentation"])}


def test_prefix_puts_the_backend_before_every_name() -> None:
    found = catalog(SHARED)

    assert list(found.tools.names) == ["a_only_a", "a_x", "b_x", "c_only_c"]
    assert found.problems == ()


@pytest.mark.parametrize(
    ("prefix_format", "expected"),
    [
        pytest.param("{workload}_", "git_log", id="underscore"),
        pytest.param("{workload}.", "git.log", id="dot"),
        pytest.param("{workload}", "gitlog", id="none"),
        pytest.param("my-{workload}--", "my-git--log", id="text"),
    ],
)
def test_the_prefix_follows_its_format(prefix_format, expected) -> None:
    found = catalog({"git": lists(tools=["log"])}, Rules(prefix_format=prefix_format))

    assert routes(found.tools) == {expected: ("git", "log")}


def test_names_that_hold_the_separator_are_found_whole() -> None:
    tools = ["_x", "x_y__z", "x.y", "b_x"]

    found = catalog({"a": lists(tools=tools), "a_": lists(tools=["y"])})

    assert routes(found.tools) == {
        **{f"a_{name}": ("a", name) for name in tools},
        "a__y": ("a_", "y"),
    }


def test_equal_full_names_of_two_backends_stay_callable_under_marked_names() -> None:
    found = catalog({"a": lists(tools=["b_c", "z"]), "a_b": lists(tools=["c"])})

    assert found.tool("a_b_c") is None
    assert sorted(routes(found.tools).values()) == [("a", "b_c"), ("a", "z"), ("a_b", "c")]
    assert reasons(found) == [("a", "NameCollides"), ("a_b", "NameCollides")]


def test_prefix_on_conflict_prefixes_what_is_shared_and_all_of_it() -> None:
    found = catalog(SHARED, Rules(conflict=Conflict.PREFIX_ON_CONFLICT))

    assert routes(found.tools) == {
        "a_x": ("a", "x"),
        "b_x": ("b", "x"),
        "only_a": ("a", "only_a"),
        "only_c": ("c", "only_c"),
    }
    assert found.problems == ()


def test_a_bare_name_that_equals_a_prefixed_one_is_prefixed_too() -> None:
    listed = {"a": lists(tools=["x"]), "b": lists(tools=["x"]), "c": lists(tools=["a_x"])}

    found = catalog(listed, Rules(conflict=Conflict.PREFIX_ON_CONFLICT))

    assert routes(found.tools) == {
        "a_x": ("a", "x"),
        "b_x": ("b", "x"),
        "c_a_x": ("c", "a_x"),
    }
    assert messages(found) == [
        (
            "Tool 'a_x' of backend 'c' is listed as 'c_a_x': it would share its name with tool 'x'"
            " of backend 'a'."
        )
    ]


def test_shared_names_that_are_no_valid_ones_are_shared_all_the_same() -> None:
    listed = {"a": lists(tools=["x/y"]), "b": lists(tools=["x/y"])}

    found = catalog(listed, Rules(conflict=Conflict.PREFIX_ON_CONFLICT))

    assert [name[:6] for name in found.tools.names] == ["a_x_y_", "b_x_y_"]


def test_priority_gives_a_shared_name_to_the_first_in_order_and_tells_the_losers() -> None:
    rules = Rules(conflict=Conflict.PRIORITY, priority_order=("c", "b"))
    listed = {"a": lists(tools=["x"]), "b": lists(tools=["x"]), "c": lists(tools=["x"])}

    found = catalog(listed, rules)

    assert routes(found.tools) == {"x": ("c", "x")}
    assert messages(found) == [
        "Tool 'x' of backend 'a' is not listed: backend 'c' offers 'x' too and comes first.",
        "Tool 'x' of backend 'b' is not listed: backend 'c' offers 'x' too and comes first.",
    ]


def test_priority_prefixes_what_only_unlisted_backends_share() -> None:
    rules = Rules(conflict=Conflict.PRIORITY, priority_order=("c",))

    found = catalog(SHARED, rules)

    assert routes(found.tools) == {
        "a_x": ("a", "x"),
        "b_x": ("b", "x"),
        "only_a": ("a", "only_a"),
        "only_c": ("c", "only_c"),
    }
    assert messages(found) == [
        (
            "Tool 'x' of backend 'a' is listed with its prefix: backend 'b' offers 'x' too, and"
            " neither of them is in priorityOrder."
        ),
        (
            "Tool 'x' of backend 'b' is listed with its prefix: backend 'a' offers 'x' too, and"
            " neither of them is in priorityOrder."
        ),
    ]


def test_a_name_that_priority_gave_is_not_taken_by_a_prefixed_one() -> None:
    rules = Rules(conflict=Conflict.PRIORITY, priority_order=("c",))
    listed = {"a": lists(tools=["x"]), "b": lists(tools=["x"]), "c": lists(tools=["a_x"])}

    found = catalog(listed, rules)

    assert routes(found.tools)["a_x"] == ("c", "a_x")
    assert sorted(routes(found.tools).values()) == [("a", "x"), ("b", "x"), ("c", "a_x")]
    assert ("a", "NameCollides") in reasons(found)


def test_manual_drops_a_name_that_is_still_shared_and_keeps_the_rest() -> None:
    found = catalog(SHARED, Rules(conflict=Conflict.MANUAL))

    assert routes(found.tools) == {"only_a": ("a", "only_a"), "only_c": ("c", "only_c")}
    assert messages(found) == [
        f"Tool 'x' of backend '{own}' is not listed: backend '{other}' offers 'x' too and"
        " conflictResolution is manual; rename one with an override or filter it out."
        for own, other in (("a", "b"), ("b", "a"))
    ]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param(Rules(), {"a_documentation": "a", "b_documentation": "b"}, id="prefix"),
        pytest.param(
            Rules(conflict=Conflict.PREFIX_ON_CONFLICT),
            {"a_documentation": "a", "b_documentation": "b"},
            id="prefixOnConflict",
        ),
        pytest.param(
            Rules(conflict=Conflict.PRIORITY, priority_order=("b", "a")),
            {"documentation": "b"},
            id="priority",
        ),
        pytest.param(
            Rules(conflict=Conflict.PRIORITY),
            {"a_documentation": "a", "b_documentation": "b"},
            id="priority without order",
        ),
        pytest.param(
            Rules(conflict=Conflict.MANUAL),
            {"a_documentation": "a", "b_documentation": "b"},
            id="manual",
        ),
    ],
)
def test_prompts_of_one_name_follow_the_rules_of_tools(rules, expected) -> None:
    found = catalog(TWO_PROMPTS, rules)

    assert {entry.name: entry.backend_name for entry in found.prompts.entries} == expected


def test_a_prompt_that_priority_drops_is_told() -> None:
    rules = Rules(conflict=Conflict.PRIORITY, priority_order=("b",))

    assert messages(catalog(TWO_PROMPTS, rules)) == [
        (
            "Prompt 'documentation' of backend 'a' is not listed: backend 'b' offers"
            " 'documentation' too and comes first."
        )
    ]


def test_tools_and_prompts_do_not_compete_for_names() -> None:
    listed = {"a": lists(tools=["x"]), "b": lists(prompts=["x"])}

    found = catalog(listed, Rules(conflict=Conflict.PREFIX_ON_CONFLICT))

    assert (found.tools.names, found.prompts.names) == (("x",), ("x",))


@pytest.mark.parametrize("conflict", Conflict)
@pytest.mark.parametrize(
    ("order", "winner"),
    [
        pytest.param((), "a", id="public names"),
        pytest.param(("b",), "b", id="one listed"),
        pytest.param(("c", "b"), "c", id="listed order"),
        pytest.param(("z", "b", "c", "b"), "b", id="unknown and repeated ones"),
    ],
)
def test_a_uri_goes_to_the_first_backend_in_order_unchanged(conflict, order, winner) -> None:
    own = lists(resources=["r://x"], templates=["r://{id}"])
    rules = Rules(conflict=conflict, priority_order=order)

    found = catalog({"c": own, "a": own, "b": own}, rules)

    assert routes(found.resources) == {"r://x": (winner, "r://x")}
    assert routes(found.templates) == {"r://{id}": (winner, "r://{id}")}
    told = [problem for problem in found.problems if problem.reason == "NameShadowed"]
    assert {problem.key.name for problem in told} == {"a", "b", "c"} - {winner}
    assert len(told) == 4


def test_uris_are_compared_without_normalisation() -> None:
    uris = ["R://x", "r://x", "r://x/", "r://%78"]

    found = catalog({"a": lists(resources=uris)})

    assert found.resources.names == tuple(sorted(uris))
    assert found.problems == ()
