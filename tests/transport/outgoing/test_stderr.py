from __future__ import annotations

import logging

import pytest

from vmcp.transport.outgoing.stderr import Stderr

NAME = "vmcp.transport.outgoing.stderr"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, NAME)
    return caplog


def test_each_line_is_logged_at_debug_with_the_name_of_the_backend(
    lines: pytest.LogCaptureFixture,
) -> None:
    Stderr("fake").feed(b"one\ntwo\nthr", now=1.0)

    assert [(r.levelname, r.backend, r.line) for r in lines.records] == [
        ("DEBUG", "fake", "one"),
        ("DEBUG", "fake", "two"),
    ]


def test_a_long_line_is_cut(lines: pytest.LogCaptureFixture) -> None:
    Stderr("fake").feed("é".encode() * 5000 + b"\n" + b"x" * 5000 + b"\n", now=1.0)

    assert [len(record.line) <= 1000 for record in lines.records] == [True, True]


def test_a_flood_is_logged_in_part_and_counted(lines: pytest.LogCaptureFixture) -> None:
    stderr = Stderr("fake")

    stderr.feed(b"flood\n" * 70, now=1.0)
    stderr.feed(b"calm\n", now=2.0)

    assert [record.line for record in lines.records if hasattr(record, "line")] == [
        "flood"
    ] * 50 + ["calm"]
    assert [record.count for record in lines.records if hasattr(record, "count")] == [20]


def test_what_was_left_out_at_last_is_counted_at_the_end(lines: pytest.LogCaptureFixture) -> None:
    stderr = Stderr("fake")
    stderr.feed(b"flood\n" * 53, now=1.0)

    stderr.close()
    stderr.close()

    assert [record.count for record in lines.records if hasattr(record, "count")] == [3]
