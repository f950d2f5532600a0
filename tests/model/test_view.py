from __future__ import annotations

import pytest

from vmcp.model.view import WHOLE, NamedView, OneBackend, View, below, view_at


@pytest.mark.parametrize(
    ("path", "view"),
    [
        ("git", OneBackend("git")),
        ("git/", OneBackend("git")),
        ("v", OneBackend("v")),
        ("v/", OneBackend("v")),
        ("v/docs", NamedView("docs")),
        ("v/docs/", NamedView("docs")),
        ("v/v", NamedView("v")),
        ("weather.v2", OneBackend("weather.v2")),
        ("a_b__c", OneBackend("a_b__c")),
        ("日本", OneBackend("日本")),
        ("", None),
        ("/", None),
        ("git//", None),
        ("v//", None),
        ("v/docs//", None),
        ("git/tools", None),
        ("v/docs/tools", None),
    ],
)
def test_a_path_below_the_whole_leads_to_one_view_or_none(path: str, view: View | None) -> None:
    assert view_at(path) == view


@pytest.mark.parametrize("view", [OneBackend("git"), OneBackend("v"), NamedView("docs")])
def test_a_view_is_found_at_its_own_path(view: OneBackend | NamedView) -> None:
    assert view_at(below(view)) == view


def test_the_whole_has_no_path_of_its_own() -> None:
    assert below(WHOLE) == ""
