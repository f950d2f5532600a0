"""The catalog that is timed holds all tools of all backends."""

from __future__ import annotations

from benchmarks.rebuild import measure


def test_all_tools_are_in_the_catalog_that_is_timed() -> None:
    found = measure(backends=3, tools=4, rounds=2)

    # The first two backends have grown, by one and by two.
    assert found["tools"] == 3 * 4 + 1 + 2
