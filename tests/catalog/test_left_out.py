from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.catalog.builders import key, lists, snapshot
from vmcp.catalog.build import build
from vmcp.catalog.left_out import left_out
from vmcp.model.inventory import Inventory
from vmcp.model.rules import Conflict, Rules, ToolOverride, ToolRules


def why(listed: Mapping[str, Inventory], rules: Rules | None = None) -> dict[tuple[str, str], str]:
    """Return for each thing that is left out, by backend and own name, the reason."""
    known = {key(name): inventory for name, inventory in listed.items()}
    now = snapshot(listed, rules)
    found = left_out(now, known, build(now, known))
    return {(each.backend_name, each.own_name): each.why for each in found}


def test_where_all_is_seen_nothing_is_left_out() -> None:
    assert why({"a": lists(["x", "y"], ["p"], ["u:1"], ["u:{x}"]), "b": lists(["x"])}) == {}


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (Rules(exclude_all_tools=True), "aggregation.excludeAllTools hides all tools."),
        (
            Rules(tools={"a": ToolRules(exclude_all=True)}),
            "excludeAll hides all tools of this backend.",
        ),
        (
            Rules(show_unnamed=False),
            "aggregation.tools does not name this backend, and defaultToolVisibility is deny.",
        ),
        (
            Rules(tools={"a": ToolRules(filter=frozenset(("y",)))}),
            "The filter of this backend does not name it.",
        ),
    ],
    ids=["all", "backend", "deny", "filter"],
)
def test_the_rule_that_hides_a_tool_is_told(rules: Rules, reason: str) -> None:
    assert why({"a": lists(["x"], ["p"])}, rules) == {("a", "x"): reason}


def test_a_filter_goes_by_the_name_after_the_override() -> None:
    override = {"x": ToolOverride(name="z")}
    rules = Rules(tools={"a": ToolRules(filter=frozenset(("z",)), overrides=override)})

    assert why({"a": lists(["x", "y"])}, rules).keys() == {("a", "y")}


def test_what_lost_its_name_is_left_out_with_the_sentence_of_its_problem() -> None:
    rules = Rules(conflict=Conflict.MANUAL)
    found = why({"a": lists(["x", "x y"]), "b": lists(["x"])}, rules)

    assert found.keys() == {("a", "x"), ("b", "x")}
    assert found["a", "x"].startswith("Tool 'x' of backend 'a' is not listed: backend 'b' offers")


def test_a_resource_that_another_backend_offers_too_is_left_out_at_the_second() -> None:
    found = why({"a": lists(resources=["u:1"]), "b": lists(resources=["u:1"])})

    assert list(found) == [("b", "u:1")]
    assert "backend 'a' offers 'u:1' too and comes first" in found["b", "u:1"]


def test_what_the_catalog_does_not_have_yet_is_told_to_be_on_its_way() -> None:
    now = snapshot(["a"])
    known = {key("a"): lists(["x"])}

    found = left_out(now, known, build(now, {}))

    assert [each.why for each in found] == ["It is listed as soon as its backend is well."]
