from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.builders import backend, contribution, key
from vmcp.gateway.registry import Registry, merge
from vmcp.model.backend import Backend, HttpEndpoint
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.rules import DEFAULT_RULES, Rules, ToolRules
from vmcp.model.snapshot import Contribution, Snapshot


def test_nothing_contributed_is_the_empty_snapshot() -> None:
    assert merge({}) == Snapshot()


def test_backends_of_all_sources_come_in_the_order_of_their_names() -> None:
    made = merge({"z": contribution("z", "b", "a"), "y": contribution("y", "c")})

    assert [each.name for each in made.backends] == ["a", "b", "c"]


def test_a_name_that_is_taken_leaves_the_later_backend_out_with_a_problem() -> None:
    late = Backend(ObjectKey("Other", "x"), "a", HttpEndpoint("http://other.test"), 30.0)

    made = merge({"1": contribution("1", "a"), "2": Contribution("2", (late,))})

    assert made.backends == (backend("a"),)
    assert made.problems == (Problem(late.key, "NameTaken", "The name 'a' is taken by Backend/a."),)


def test_rules_come_from_the_first_source_that_has_some() -> None:
    mine = Rules(max_name_length=20)

    made = merge({"1": contribution("1"), "2": contribution("2", rules=mine)})

    assert made.rules == mine
    assert merge({"1": contribution("1")}).rules == DEFAULT_RULES


def test_rules_of_backends_themselves_come_before_those_of_another_source() -> None:
    own = Contribution("1", own_tools={"a": ToolRules(filter=frozenset(("one", "two")))})
    rules = Rules(tools={"a": ToolRules(filter=frozenset(("two", "three")))})

    made = merge({"1": own, "2": contribution("2", rules=rules)})

    assert made.rules.tools["a"].filter == {"two"}


def test_one_source_that_may_not_be_served_closes_the_whole() -> None:
    why = Problem(key("x"), "IncomingAuthNotSupported", "It asks for more than there is.")

    made = merge({"1": contribution("1", "a"), "2": Contribution("2", closed=why)})

    assert made.closed == why
    assert made.backends == ()


def test_problems_of_sources_are_sorted() -> None:
    problems = tuple(Problem(key(name), "Bad", "It is bad.") for name in "cab")

    made = merge({"1": contribution("1", problems=problems)})

    assert [problem.key.name for problem in made.problems] == ["a", "b", "c"]


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.randoms(use_true_random=False))
def test_the_order_in_which_sources_are_known_changes_nothing(
    names: list[str], rng: random.Random
) -> None:
    sources = {str(at): contribution(str(at), name) for at, name in enumerate(names)}
    shuffled = list(sources.items())
    rng.shuffle(shuffled)

    assert merge(dict(shuffled)) == merge(sources)


def test_a_source_replaces_what_it_contributed_before_and_nothing_else() -> None:
    registry = Registry()
    registry.take(contribution("1", "a", "b"))
    registry.take(contribution("2", "c"))

    registry.take(contribution("1", "a"))

    assert [each.name for each in registry.snapshot.value.backends] == ["a", "c"]


def test_an_equal_contribution_makes_no_new_snapshot() -> None:
    registry = Registry()
    registry.take(contribution("1", "a"))
    before = registry.snapshot.value

    registry.take(contribution("1", "a"))

    assert registry.snapshot.value is before
