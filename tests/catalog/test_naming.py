from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.builders import backend, document, offer
from vmcp.catalog.entries import Kind
from vmcp.catalog.naming import Bid, fit, named, settle
from vmcp.model.rules import Rules

RULES = Rules()
NO_DOTS = Rules(allow_dots=False)
VALID = re.compile(r"[A-Za-z0-9_.-]+")
MARK = re.compile(r"_[0-9a-f]{8}")


def names(bids: Sequence[Bid], rules: Rules = RULES) -> list[str | None]:
    return list(settle(bids, rules).names)


def marked(stem: str, found: str | None) -> bool:
    return found is not None and found.startswith(stem) and bool(MARK.fullmatch(found[len(stem) :]))


@pytest.mark.parametrize(
    ("wanted", "rules"),
    [
        pytest.param("git_log", RULES, id="plain"),
        pytest.param("calendar.read", RULES, id="dot"),
        pytest.param("A-9._", RULES, id="all that is allowed"),
        pytest.param("x" * 64, RULES, id="as long as allowed"),
        pytest.param("x" * 128, Rules(max_name_length=128), id="longer limit"),
        pytest.param("calendar-read", NO_DOTS, id="no dot where none is allowed"),
    ],
)
def test_a_valid_name_stays(wanted, rules) -> None:
    assert fit(wanted, offer("a", "x"), rules) == wanted


@pytest.mark.parametrize(
    ("wanted", "rules", "stem"),
    [
        pytest.param("a/b", RULES, "a_b", id="slash"),
        pytest.param("time server", RULES, "time_server", id="space"),
        pytest.param("git_日本", RULES, "git", id="beyond ASCII"),
        pytest.param("日本", RULES, "", id="nothing valid"),
        pytest.param("", RULES, "", id="empty"),
        pytest.param("line\n", RULES, "line", id="line feed at the end"),
        pytest.param("x" * 65, RULES, "x" * 55, id="too long"),
        pytest.param("calendar.read", NO_DOTS, "calendar_read", id="dot"),
        pytest.param("a\ud800", RULES, "a", id="lone surrogate"),
    ],
)
def test_another_name_is_made_to_fit(wanted, rules, stem) -> None:
    assert marked(stem, fit(wanted, offer("a", wanted), rules))


def test_a_fitted_name_is_the_same_in_every_process() -> None:
    assert fit("git_a/b", offer("git", "a/b"), RULES) == "git_a_b_38cefde2"


def test_names_that_would_be_cut_or_replaced_alike_stay_apart() -> None:
    own = ["a/b", "a b", "a:b", "x" * 70 + "1", "x" * 70 + "2"]

    assert len({fit(name, offer("a", name), RULES) for name in own}) == len(own)


@given(
    st.text(max_size=80),
    st.text(max_size=80),
    st.integers(min_value=1, max_value=130),
    st.booleans(),
)
def test_a_fitted_name_is_always_valid(wanted, own, length, dots) -> None:
    found = fit(wanted, offer("a", own), Rules(max_name_length=length, allow_dots=dots))

    assert VALID.fullmatch(found)
    assert len(found) <= length
    assert dots or "." not in found or found == ""


def test_bids_for_different_names_get_them() -> None:
    assert names([Bid(offer("a", "x"), "a_x"), Bid(offer("b", "x"), "b_x")]) == ["a_x", "b_x"]


def test_equals_that_want_one_name_all_get_a_mark() -> None:
    found = names([Bid(offer("a", "b_x"), "a_b_x"), Bid(offer("a_b", "x"), "a_b_x")])

    assert all(marked("a_b_x", name) for name in found)
    assert found[0] != found[1]


def test_a_bare_name_yields_to_a_prefixed_one() -> None:
    bids = [Bid(offer("a", "x"), "a_x"), Bid(offer("c", "a_x"), "a_x", "c_a_x")]

    assert names(bids) == ["a_x", "c_a_x"]


def test_any_name_yields_to_that_of_a_firm_bid() -> None:
    bids = [Bid(offer("a", "x"), "a_x"), Bid(offer("c", "a_x"), "a_x", "c_a_x", firm=True)]

    found = names(bids)

    assert marked("a_x", found[0])
    assert found[1] == "a_x"


def test_firm_bids_for_one_name_are_equals() -> None:
    bids = [Bid(offer(name, "x"), "x", f"{name}_x", firm=True) for name in "ab"]

    assert names(bids) == ["a_x", "b_x"]


def test_yielding_goes_on_until_nobody_shares_a_name() -> None:
    bids = [
        Bid(offer("a", "x"), "a_x"),
        Bid(offer("c", "a_x"), "a_x", "c_a_x"),
        Bid(offer("d", "c_a_x"), "c_a_x", "d_c_a_x"),
    ]

    assert names(bids) == ["a_x", "c_a_x", "d_c_a_x"]


def test_a_real_name_cannot_take_a_fitted_one_away() -> None:
    rewritten = offer("a", "b/c")
    real = offer("z", fit("b/c", rewritten, RULES))

    found = names([Bid(rewritten, "b/c"), Bid(real, real.own_name)])

    assert found[0] == real.own_name
    assert found[1] is not None
    assert found[1] != found[0]


def test_a_real_name_cannot_take_a_marked_one_away() -> None:
    pair = [Bid(offer("a", "b_x"), "a_b_x"), Bid(offer("a_b", "x"), "a_b_x")]
    alone = names(pair)
    assert alone[0] is not None

    found = names([*pair, Bid(offer("evil", "y"), alone[0])])

    assert found[:2] == alone
    assert found[2] not in alone


@given(st.permutations(range(4)))
def test_the_order_of_the_bids_does_not_matter(order) -> None:
    bids = [
        Bid(offer("a", "b_x"), "a_b_x"),
        Bid(offer("a_b", "x"), "a_b_x"),
        Bid(offer("c", "a_b_x"), "a_b_x", "c_a_b_x"),
        Bid(offer("d", "c_a_b_x"), "c_a_b_x", "d_c_a_b_x"),
    ]

    shuffled = names([bids[i] for i in order])

    assert shuffled == [names(bids)[i] for i in order]


def test_where_no_names_are_left_things_are_left_out_and_told() -> None:
    rules = Rules(max_name_length=1)
    offers = [offer("a", f"tool-{number}") for number in range(20)]

    found = named(Kind.TOOL, [Bid(one, one.base) for one in offers], rules)

    assert len({one.name for one in found.named}) == len(found.named) < 20
    lost = [problem for problem in found.problems if "is not listed" in problem.message]
    assert len(lost) == 20 - len(found.named)
    assert all("raise aggregation.maxNameLength" in problem.message for problem in lost)


def test_a_rewritten_name_is_told_with_the_rule_that_it_broke() -> None:
    found = named(Kind.PROMPT, [Bid(offer("git", "a/b"), "git_a/b")], NO_DOTS)

    assert [problem.reason for problem in found.problems] == ["NameRewritten"]
    assert found.problems[0].message == (
        "Prompt 'a/b' of backend 'git' is listed as 'git_a_b_38cefde2', since a name has 1 to 64"
        " characters of [A-Za-z0-9_-]."
    )


def test_a_collision_is_told_to_both_with_the_name_of_the_other() -> None:
    bids = [Bid(offer("a", "b_x"), "a_b_x"), Bid(offer("a_b", "x"), "a_b_x")]

    found = named(Kind.TOOL, bids, RULES)

    first, second = found.named
    assert [(problem.key, problem.reason) for problem in found.problems] == [
        (backend("a").key, "NameCollides"),
        (backend("a_b").key, "NameCollides"),
    ]
    assert [problem.message for problem in found.problems] == [
        (
            f"Tool 'b_x' of backend 'a' is listed as '{first.name}': it would share its name with"
            " tool 'x' of backend 'a_b'."
        ),
        (
            f"Tool 'x' of backend 'a_b' is listed as '{second.name}': it would share its name with"
            " tool 'b_x' of backend 'a'."
        ),
    ]


def test_a_document_whose_name_repeats_is_renamed_throughout() -> None:
    repeated = document(name="x", title="t")
    repeated = type(repeated)((*repeated.members, (b'"name"', b'"x"')))
    one = offer("a", "x")._replace(document=repeated)

    entry = named(Kind.TOOL, [Bid(one, "a_x")], RULES).named[0]

    assert entry.document.join() == b'{"name":"a_x","title":"t","name":"a_x"}'
