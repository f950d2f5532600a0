from __future__ import annotations

import logging

import pytest

from vmcp.transport.outgoing.noise import Noise, shown

NAME = "vmcp.transport.outgoing.noise"


def test_the_first_line_is_told_and_the_others_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, NAME)
    noise = Noise("fake")

    for line in (b"ready", b"steady", b"go"):
        noise.heard(line)
    noise.close()

    assert [(r.levelname, r.backend, getattr(r, "line", None)) for r in caplog.records] == [
        ("WARNING", "fake", None),
        ("DEBUG", "fake", "ready"),
        ("INFO", "fake", None),
    ]
    assert caplog.records[2].count == 3


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("✓ ready".encode(), "✓ ready"),
        (b"\x1b[32mok\x1b[0m\t", r"\x1b[32mok\x1b[0m\t"),
        (b"\xff\xfe", r"\xff\xfe"),
        (b"x" * 500, "x" * 80),
        (b"\0" * 500, r"\x00" * 20),
    ],
    ids=["check mark", "colours", "no UTF-8", "long", "long and unprintable"],
)
def test_what_is_shown_of_a_line_is_short_and_printable(line: bytes, text: str) -> None:
    assert shown(line) == text
