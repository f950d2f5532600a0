from __future__ import annotations

from dataclasses import replace

from tests.gateway.builders import backend, inventory, key
from vmcp.gateway.rounds import first_round, next_round
from vmcp.model.rules import Rules
from vmcp.model.snapshot import Snapshot
from vmcp.model.view import NamedView, OneBackend, ViewRules

A, B = OneBackend("a"), OneBackend("b")
PART = NamedView("part")
VIEWS = (ViewRules("part", None, ("b",)),)
STATE = Snapshot((backend("a"), backend("b")), views=VIEWS)
KNOWN = {key("a"): inventory("a", "one"), key("b"): inventory("b", "two")}
NONE: frozenset[OneBackend] = frozenset()


def test_a_backend_alone_is_built_only_where_somebody_asked_for_it() -> None:
    made = next_round(first_round(), STATE, KNOWN, frozenset({A}))

    assert set(made.parts) == {PART, A}
    assert made.parts[A].catalog.tools.names == ("one",)


def test_what_is_the_same_is_not_built_again_when_another_path_is_asked_for() -> None:
    before = next_round(first_round(), STATE, KNOWN, frozenset({A}))

    made = next_round(before, STATE, KNOWN, frozenset({A, B}))

    assert made.whole is before.whole
    assert made.parts[PART] is before.parts[PART]
    assert made.parts[A] is before.parts[A]
    assert made.parts[B].catalog.tools.names == ("two",)


def test_a_change_of_one_backend_leaves_another_one_alone_as_it_is() -> None:
    before = next_round(first_round(), STATE, KNOWN, frozenset({A, B}))
    known = {**KNOWN, key("b"): inventory("b", "two", "three")}

    made = next_round(before, STATE, known, frozenset({A, B}))

    assert made.parts[A] is before.parts[A]
    assert made.parts[B].catalog.tools.names == ("three", "two")
    assert made.parts[PART].catalog.tools.names == ("b_three", "b_two")


def test_other_rules_build_every_backend_alone_anew() -> None:
    before = next_round(first_round(), STATE, KNOWN, frozenset({A}))
    state = replace(STATE, rules=Rules(exclude_all_tools=True))

    made = next_round(before, state, KNOWN, frozenset({A}))

    assert made.parts[A].catalog.tools.names == ()


def test_another_backend_of_the_same_name_is_built_anew() -> None:
    before = next_round(first_round(), STATE, KNOWN, frozenset({A}))
    other = replace(backend("a"), key=key("other"))
    state = Snapshot((other, backend("b")))
    known = {key("other"): inventory("other", "new"), key("b"): KNOWN[key("b")]}

    made = next_round(before, state, known, frozenset({A}))

    assert made.parts[A].catalog.tools.names == ("new",)


def test_views_and_backends_that_are_no_more_leave_nothing() -> None:
    before = next_round(first_round(), STATE, KNOWN, frozenset({A, B}))

    made = next_round(before, Snapshot((backend("a"),)), KNOWN, frozenset({A, B}))

    assert set(made.parts) == {A}


def test_the_problems_are_those_of_the_whole_and_of_named_views() -> None:
    odd = (ViewRules("odd", None, ("gone",)),)
    known = {**KNOWN, key("a"): inventory("a", "a/b")}

    made = next_round(first_round(), replace(STATE, views=odd), known, frozenset({A}))

    assert sorted(each.reason for each in made.problems) == ["BackendUnknown", "NameRewritten"]


def test_a_round_tells_how_long_it_took() -> None:
    assert next_round(first_round(), STATE, KNOWN, NONE).seconds > 0
