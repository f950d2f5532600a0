"""The start of the gateway as it is measured, and what is demanded of it."""

from __future__ import annotations

import pytest

from benchmarks.startup import _bare_ms, _served_ms, verdicts


@pytest.mark.parametrize(
    ("bare", "served", "met"),
    [(25.0, 700.0, (True, True)), (20.0, 900.0, (True, False)), (50.0, 1100.0, (False, True))],
    ids=["both", "too many times", "too long"],
)
def test_both_the_time_and_how_many_times_it_is_count(
    bare: float, served: float, met: tuple[bool, bool]
) -> None:
    assert tuple(each.meets_target for each in verdicts(bare, served)) == met


async def test_a_gateway_answers_although_its_backend_never_does() -> None:
    bare, served = await _bare_ms(), await _served_ms()

    assert 0 < bare < served
