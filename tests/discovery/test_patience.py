"""A change waits a while for what it is the first to refer to, and for no part of that twice."""

from __future__ import annotations

from vmcp.discovery.patience import Keys, Patience
from vmcp.model.keys import ObjectKey

SECONDS = 5.0
NOTHING: Keys = frozenset()


def keys(*names: str) -> Keys:
    return frozenset(ObjectKey("Secret", name) for name in names)


def test_where_all_is_known_nothing_is_held_back() -> None:
    patience = Patience(SECONDS)

    assert not patience.holds(NOTHING, 0.0)
    assert patience.until is None


def test_a_change_is_held_back_until_what_it_refers_to_is_known() -> None:
    patience = Patience(SECONDS)

    assert patience.holds(keys("a"), 0.0)
    assert patience.until == SECONDS
    assert not patience.holds(NOTHING, 1.0)
    assert patience.until is None


def test_what_is_waited_for_in_vain_holds_up_nothing_more() -> None:
    patience = Patience(SECONDS)

    assert patience.holds(keys("a"), 0.0)
    assert not patience.holds(keys("a"), SECONDS)
    # Nobody is to ask again and again from now on.
    assert patience.until is None
    assert not patience.holds(keys("a"), SECONDS + 1)


def test_another_one_is_waited_for_beside_one_that_was_waited_for_in_vain() -> None:
    patience = Patience(SECONDS)
    patience.holds(keys("a"), 0.0)
    patience.holds(keys("a"), SECONDS)

    assert patience.holds(keys("a", "b"), 10.0)
    assert patience.until == 10.0 + SECONDS
    assert not patience.holds(keys("a"), 11.0)


def test_however_many_come_one_after_the_other_no_change_waits_longer() -> None:
    patience = Patience(SECONDS)

    held = [patience.holds(keys(f"s{second}"), float(second)) for second in range(6)]

    assert held == [True] * 5 + [False]


def test_what_was_known_once_is_waited_for_again() -> None:
    patience = Patience(SECONDS)
    patience.holds(keys("a"), 0.0)
    patience.holds(keys("a"), SECONDS)
    patience.holds(NOTHING, 6.0)

    assert patience.holds(keys("a"), 7.0)
