"""When a run through the gateway counts as worse, and what the baseline may excuse."""

import pytest

from tests.conformance.outcome import (
    BaselineError,
    Excuse,
    Outcome,
    baseline,
    outcome,
    regressions,
    shortfalls,
    worse,
)

LINE = {"revision": "R", "scenario": "s", "checks": ["a"], "reason": "because"}


def excuse(*checks: str, scenario: str = "s") -> Excuse:
    return Excuse("R", scenario, frozenset(checks), "because")


def test_only_passed_and_failed_checks_are_counted() -> None:
    checks = [
        {"id": "a", "status": "SUCCESS"},
        {"id": "a", "status": "SUCCESS"},
        {"id": "b", "status": "FAILURE"},
        {"id": "c", "status": "WARNING"},
        {"id": "d", "status": "INFO"},
    ]

    counted = outcome(checks)

    assert (counted.passed, counted.failed) == (2, 1)


@pytest.mark.parametrize(
    ("through", "expected"),
    [
        pytest.param(Outcome({"a": 2}), (), id="same"),
        pytest.param(Outcome({"a": 3, "b": 1}), (), id="better"),
        pytest.param(Outcome({"a": 1}), ("a",), id="passes-less-often"),
        pytest.param(Outcome({"a": 2}, {"a": 1}), ("a",), id="fails-too"),
        pytest.param(Outcome({"a": 2}, {"b": 1}), ("b",), id="fails-something-new"),
        pytest.param(Outcome(), ("a",), id="did-not-run"),
    ],
)
def test_a_check_is_worse_when_it_passes_less_or_fails_more(
    through: Outcome, expected: tuple[str, ...]
) -> None:
    assert worse(Outcome({"a": 2}), through) == expected


def test_a_check_that_fails_directly_as_well_is_no_regression() -> None:
    failing = Outcome({}, {"a": 1})

    assert worse(failing, failing) == ()


def test_a_worse_check_without_excuse_is_reported() -> None:
    direct, through = {"s": Outcome({"a": 1, "b": 1})}, {"s": Outcome({"b": 1}, {"a": 1})}

    assert regressions("R", direct, through, []) == (
        "R s: a is worse through the gateway than directly.",
    )


def test_an_excuse_covers_its_own_checks_only() -> None:
    direct, through = {"s": Outcome({"a": 1, "b": 1})}, {"s": Outcome({}, {"a": 1, "b": 1})}

    assert regressions("R", direct, through, [excuse("a")]) == (
        "R s: b is worse through the gateway than directly.",
    )


@pytest.mark.parametrize(
    "stale", [excuse("a"), excuse("a", scenario="unknown")], ids=["passes", "unknown-scenario"]
)
def test_an_excuse_that_excuses_nothing_is_reported(stale: Excuse) -> None:
    same = {"s": Outcome({"a": 1})}

    found = regressions("R", same, same, [stale])

    assert len(found) == 1
    assert "take it out" in found[0]


def test_an_excuse_of_another_revision_is_left_alone() -> None:
    same = {"s": Outcome({"a": 1})}

    assert regressions("Q", same, same, [excuse("a")]) == ()


def test_direct_runs_must_reach_the_published_figures() -> None:
    report = {"s": Outcome({"a": 1}, {"b": 1}), "tasks-s": Outcome({"c": 1}, {"d": 1})}

    assert shortfalls("R", report, passed=3, unscored="tasks-") == (
        "R s: b fails directly.",
        "R: 2 checks pass directly, not 3.",
    )


def test_a_baseline_line_is_read() -> None:
    assert baseline([LINE], revisions={"R"}) == (excuse("a"),)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        pytest.param({}, "not a list", id="mapping"),
        pytest.param(["s"], r"baseline\[0\] is not a mapping", id="text"),
        pytest.param([LINE, LINE | {"reason": " "}], r"baseline\[1\]\.reason", id="no-reason"),
        pytest.param([LINE | {"checks": []}], r"baseline\[0\]\.checks", id="no-checks"),
        pytest.param([LINE | {"revision": "Q"}], r"baseline\[0\]\.revision", id="revision"),
        pytest.param([LINE | {"why": "x"}], "unknown keys: why", id="unknown-key"),
    ],
)
def test_a_baseline_line_that_is_not_one_is_refused_by_its_place(lines: object, words: str) -> None:
    with pytest.raises(BaselineError, match=words):
        baseline(lines, revisions={"R"})
