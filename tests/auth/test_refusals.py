"""Refused requests are told in the log, at a rate of our own."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from vmcp.auth.refusals import Refusals


@dataclass
class Time:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_flood_is_one_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    time = Time()
    refusals = Refusals(time)
    with caplog.at_level(logging.WARNING):
        for each in range(1000):
            refusals.add(f"192.0.2.{each % 4}")
        time.now = 60.0
        refusals.add("192.0.2.9")

    told = [(record.refused, record.client) for record in caplog.records]  # type: ignore[attr-defined]
    assert told == [(1, "192.0.2.0"), (1000, "192.0.2.9")]
    assert refusals.count == 1001
