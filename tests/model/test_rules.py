"""Rules for tools that are applied one after the other."""

from __future__ import annotations

from vmcp.model.rules import Rules, ToolOverride, ToolRules


def renamed(**names: str) -> ToolRules:
    return ToolRules(overrides={old: ToolOverride(name=new) for old, new in names.items()})


def test_a_tool_that_is_renamed_twice_has_the_last_name() -> None:
    assert renamed(b="c").after(renamed(a="b")).overrides == {"a": ToolOverride(name="c")}


def test_a_rule_for_a_name_that_was_replaced_matches_nothing() -> None:
    assert renamed(a="c").after(renamed(a="b")).overrides == {"a": ToolOverride(name="b")}


def test_what_only_one_of_them_says_is_kept() -> None:
    inner = ToolRules(overrides={"a": ToolOverride("b", "inner", {"title": b'"t"'})})
    outer = ToolRules(overrides={"b": ToolOverride(None, "outer"), "x": ToolOverride("y")})

    assert outer.after(inner).overrides == {
        "a": ToolOverride("b", "outer", {"title": b'"t"'}),
        "x": ToolOverride("y"),
    }


def test_only_what_both_filters_show_is_shown_by_its_last_name() -> None:
    inner = ToolRules(filter=frozenset(("a", "b")))
    outer = ToolRules(filter=frozenset(("c", "d")), overrides={"a": ToolOverride(name="c")})

    assert outer.after(inner).filter == {"c"}
    assert ToolRules().after(inner).filter == {"a", "b"}
    assert outer.after(ToolRules()).filter == {"c", "d"}


def test_who_shows_no_tools_shows_none_whatever_comes_after() -> None:
    assert ToolRules().after(ToolRules(exclude_all=True)).exclude_all


def test_rules_of_its_own_do_not_show_a_backend_that_the_others_hide() -> None:
    own = {"a": ToolRules(filter=frozenset(("one",)))}

    assert Rules().with_own(own).tools == own
    assert Rules(show_unnamed=False).with_own(own).tools == {}
