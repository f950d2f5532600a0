from __future__ import annotations

import pytest

from tests.config.refusals import BOTH, refused
from vmcp.config.parse import parse


def views(*each: str) -> str:
    return f"{BOTH}views: [{', '.join(f'{{{one}}}' for one in each)}]"


def test_there_are_no_views_unless_some_are_named() -> None:
    assert parse(BOTH).views == ()


def test_a_view_has_a_name_and_what_limits_it() -> None:
    first, second = parse(
        views(
            "name: docs, description: To read., backends: [web, later]", "name: v, tools: ['*_get']"
        )
    ).views

    assert (first.name, first.description) == ("docs", "To read.")
    assert (first.backends, first.tools) == (("web", "later"), None)
    assert (second.name, second.backends, second.tools) == ("v", None, ("*_get",))


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (views("backends: [web]"), "views[0].name", "Is required."),
        (views("name: a/b, backends: [web]"), "views[0].name", "Is not a name."),
        (views("name: ' ', backends: [web]"), "views[0].name", "Is not a name."),
        (views("name: a"), "views[0]", "Limits nothing, so that it shows what /mcp shows."),
        (views("name: a, backends: []"), "views[0].backends", "Names nothing."),
        (views("name: a, tools: []"), "views[0].tools", "Names nothing."),
        (views("name: a, backends: [web, web]"), "views[0].backends[1]", "Is there twice."),
        (views("name: a, tools: [x, y, x]"), "views[0].tools[2]", "Is there twice."),
        (
            views("name: a, tools: ['get it']"),
            "views[0].tools[0]",
            "Matches no name that clients see.",
        ),
        (views("name: a, tools: ['x?']"), "views[0].tools[0]", "Matches no name that clients see."),
        (views("name: a, tool: [x]"), "views[0].tool", "Is no key that is known here."),
        (f"{BOTH}views: {{}}", "views", "Must be a list."),
    ],
)
def test_a_view_that_cannot_be_meant_is_refused(text: str, path: str, message: str) -> None:
    assert (path, message) in [(error.path, error.message) for error in refused(text)]


def test_two_views_of_one_name_are_refused() -> None:
    (error,) = refused(views("name: a, backends: [web]", "name: a, backends: [box]"))

    assert (error.path, error.message) == ("views[1].name", "Is there twice.")
