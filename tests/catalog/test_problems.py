from __future__ import annotations

import pytest

from tests.catalog.builders import backend
from vmcp.catalog.entries import Kind
from vmcp.catalog.problems import duplicated, shown


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("read", "'read'", id="plain"),
        pytest.param("größer 日本", "'größer 日本'", id="beyond ASCII"),
        pytest.param("a\nb\x1b[31m", r"'a\nb\x1b[31m'", id="control characters"),
        pytest.param("a\ud800", r"'a\ud800'", id="lone surrogate"),
        pytest.param("x" * 1000, f"'{'x' * 128}...'", id="long"),
        pytest.param("https://h/a?key=b", "'https://h/a?...'", id="query"),
        pytest.param("db://me:word@h/a@b", "'db://me:...@h/a@b'", id="password"),
        pytest.param("https://h/{a}{?b}", "'https://h/{a}{?b}'", id="template"),
        pytest.param("what?", "'what?'", id="no URI"),
    ],
)
def test_a_foreign_name_takes_one_printable_line(name, expected) -> None:
    assert shown(name) == expected


def test_a_problem_belongs_to_the_backend_that_has_it() -> None:
    problem = duplicated(Kind.PROMPT, backend("git"), "log")

    assert problem.key == backend("git").key
    assert problem.message == (
        "Backend 'git' lists prompt 'log' more than once; the first one stays."
    )
