from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.catalog.builders import key, lists, snapshot, tool
from vmcp.catalog.build import build
from vmcp.catalog.entries import Kind
from vmcp.catalog.explain import Explanation, explain
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Inventory, Peer
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.rules import Conflict, Rules, ToolOverride, ToolRules
from vmcp.model.snapshot import Snapshot
from vmcp.model.view import ViewRules


def explained(
    listed: Mapping[str, Inventory | None], asked: str, rules: Rules | None = None
) -> Explanation:
    """Explain a name where some backends are listed, and those with None are not."""
    known = {key(name): inventory for name, inventory in listed.items() if inventory is not None}
    now = snapshot(listed, rules)
    return explain(now, known, build(now, known), asked)


def only(found: Explanation) -> tuple[str | None, str, str, str]:
    """Return the one finding: its name, backend, own name and reasons."""
    (one,) = found.findings
    return one.name, one.backend_name, one.own_name, " ".join(one.why)


@pytest.mark.parametrize("asked", ["a_x", "x"], ids=["as clients", "as its backend"])
def test_a_prefixed_tool_is_found_by_both_of_its_names(asked: str) -> None:
    found = explained({"a": lists(["x"]), "b": lists(["y"])}, asked)

    assert only(found) == (
        "a_x",
        "a",
        "x",
        "conflictResolution is prefix: prefixFormat puts 'a_' before it.",
    )
    assert (found.unlisted, found.mentions, found.near) == ((), (), ())


def test_a_name_that_several_backends_use_is_found_at_each() -> None:
    found = explained({"a": lists(["x"]), "b": lists(["x"], ["x"])}, "x")

    assert [(one.kind, one.name) for one in found.findings] == [
        (Kind.TOOL, "a_x"),
        (Kind.TOOL, "b_x"),
        (Kind.PROMPT, "b_x"),
    ]


@pytest.mark.parametrize("asked", ["a_new", "new", "old"])
def test_an_override_is_told_before_the_prefix(asked: str) -> None:
    overrides = {"old": ToolOverride(name="new")}
    rules = Rules(tools={"a": ToolRules(overrides=overrides)})

    name, _, own, why = only(explained({"a": lists(["old"])}, asked, rules))

    assert (name, own) == ("a_new", "old")
    assert why.startswith("An override in aggregation.tools names it 'new'. conflictResolution is")


def test_a_shortened_name_is_found_by_the_one_that_it_would_have_had() -> None:
    wanted = "a_" + "x" * 80

    name, _, own, why = only(explained({"a": lists(["x" * 80])}, wanted))

    assert name is not None
    assert len(name) == 64
    assert own == "x" * 80
    assert f"is listed as '{name}', since a name has 1 to 64 characters" in why


@pytest.mark.parametrize(
    ("rules", "asked", "why"),
    [
        (
            Rules(conflict=Conflict.PREFIX_ON_CONFLICT),
            "a_x",
            "prefixOnConflict, and backends 'a', 'b' offer 'x': prefixFormat puts 'a_' before it.",
        ),
        (
            Rules(conflict=Conflict.PREFIX_ON_CONFLICT),
            "z",
            "prefixOnConflict, and no other backend offers 'z': no prefix.",
        ),
        (Rules(conflict=Conflict.MANUAL), "z", "conflictResolution is manual: names stay"),
        (
            Rules(conflict=Conflict.MANUAL),
            "p",
            "conflictResolution is manual, which for prompts is prefix: prefixFormat puts 'b_'",
        ),
        (
            Rules(conflict=Conflict.PRIORITY),
            "z",
            "conflictResolution is priority, and no other backend offers 'z': no prefix.",
        ),
        (
            Rules(conflict=Conflict.PRIORITY),
            "b_x",
            "priorityOrder names none of backends 'a', 'b', which offer 'x': each gets its prefix.",
        ),
    ],
    ids=["shared", "unshared", "manual", "manual prompt", "priority alone", "no priority"],
)
def test_the_rule_that_gave_the_name_is_told(rules: Rules, asked: str, why: str) -> None:
    found = explained({"a": lists(["x"]), "b": lists(["x", "z"], ["p"])}, asked, rules)

    assert why in only(found)[3]


def test_of_a_name_by_priority_the_winner_and_the_loser_are_told() -> None:
    rules = Rules(conflict=Conflict.PRIORITY, priority_order=("b",))

    winner, loser = explained({"a": lists(["x"]), "b": lists(["x"])}, "x", rules).findings

    assert (winner.backend_name, winner.name) == ("b", "x")
    assert winner.why[0].endswith("which offer 'x', 'b' comes first in priorityOrder.")
    assert (loser.backend_name, loser.name) == ("a", None)
    assert "backend 'b' offers 'x' too and comes first" in loser.why[0]


@pytest.mark.parametrize("asked", ["x", "a_x"])
def test_a_hidden_tool_is_told_with_the_rule_that_hides_it(asked: str) -> None:
    rules = Rules(tools={"a": ToolRules(filter=frozenset(("y",)))})

    found = explained({"a": lists(["x", "y"])}, asked, rules)

    assert only(found) == (None, "a", "x", "The filter of this backend does not name it.")


def test_a_resource_keeps_its_uri() -> None:
    name, backend, _, why = only(explained({"a": lists(resources=["u:1"])}, "u:1"))

    assert (name, backend) == ("u:1", "a")
    assert why.startswith("Resources keep the URIs")


def test_a_uri_that_no_list_shows_is_told_with_its_template() -> None:
    listed = lists(templates=["u:{x}"])

    name, backend, _, why = only(explained({"a": listed, "b": lists(resources=["v:1"])}, "u:9"))

    assert (name, backend) == ("u:9", "a")
    assert why == "No list shows it; resource template 'u:{x}' matches it."


def test_the_only_backend_with_resources_is_asked_for_every_uri() -> None:
    peer = Peer(Era.SESSIONED, "2025-11-25", Document(((b'"resources"', b"{}"),)), b"{}")

    found = explained({"a": lists(resources=["u:1"], peer=peer), "b": lists(["x"])}, "other:1")

    assert "is asked for every URI" in only(found)[3]


def test_a_backend_that_was_never_listed_may_have_it() -> None:
    listed = {"a": lists(["x"]), "b": None, "c": None}

    assert explained(listed, "y").unlisted == ("b", "c")
    assert explained(listed, "b_y").unlisted == ("b",)
    assert explained(listed, "x").unlisted == ()


def test_a_rule_that_names_nothing_is_mentioned() -> None:
    rules = Rules(tools={"a": ToolRules(filter=frozenset(("x", "gone")))})

    found = explained({"a": lists(["x"])}, "gone", rules)

    assert found.findings == ()
    assert found.mentions[0].startswith("The filter's 'gone' matches no tool of backend 'a'")


def test_a_backend_that_is_left_out_as_a_whole_is_mentioned() -> None:
    problem = Problem(ObjectKey("backend", "me"), "SelfReference", "The url of 'me' is ours.")
    now = Snapshot(problems=(problem,))

    told = ("backend/me is left out: The url of 'me' is ours.",)
    assert explain(now, {}, build(now, {}), "me_x").mentions == told
    assert explain(now, {}, build(now, {}), "me").mentions == told
    assert explain(now, {}, build(now, {}), "you_x").mentions == ()


@pytest.mark.parametrize(
    ("asked", "near"),
    [("serch", ("a_search",)), ("search_a", ("a_search",)), ("arch", ("a_search",)), ("%%", ())],
    ids=["own name", "turned round", "a part", "nothing like it"],
)
def test_names_that_may_have_been_meant_are_told(asked: str, near: tuple[str, ...]) -> None:
    found = explained({"a": lists([tool("search"), tool("list")])}, asked)

    assert found.near == near


def test_the_views_that_show_a_thing_are_told() -> None:
    views = (
        ViewRules("all", backends=("a",)),
        ViewRules("other", backends=("b",)),
        ViewRules("some", tools=("a_*",)),
    )
    known = {key("a"): lists(["x"], resources=["u:1"]), key("b"): lists(["x"], resources=["u:1"])}
    now = replace(snapshot(["a", "b"]), views=views)
    catalog = build(now, known)

    def seen(asked: str) -> tuple[str, ...]:
        return explain(now, known, catalog, asked).findings[0].views

    assert seen("a_x") == ("all", "some")
    assert seen("b_x") == ("other",)
    assert seen("u:1") == ("all", "some")
