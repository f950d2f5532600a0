from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.builders import backend, catalog, key, lists, messages, reasons, routes, snapshot
from vmcp.catalog.lookup import Catalog
from vmcp.catalog.parts import of_backend, of_view
from vmcp.model.inventory import Inventory
from vmcp.model.rules import Conflict, Rules, ToolOverride, ToolRules
from vmcp.model.view import ViewRules

GIT = lists(["log", "diff", "push"], ["greet"], ["x://1", "x://git"], ["git://{id}"])
WEB = lists(["get", "log"], ["greet", "ask"], ["x://1"], ["web://{id}"])
BOTH = {"git": GIT, "web": WEB}


def alone(name: str, listed: Mapping[str, Inventory], rules: Rules | None = None) -> Catalog:
    inventories = {key(each): inventory for each, inventory in listed.items()}
    return of_backend(backend(name), snapshot(listed, rules), inventories)


def part(
    listed: Mapping[str, Inventory],
    *,
    backends: tuple[str, ...] | None = None,
    tools: tuple[str, ...] | None = None,
    rules: Rules | None = None,
    missing: frozenset[str] = frozenset(),
) -> Catalog:
    """Return what a view shows; `missing` are backends that have not been listed."""
    known = {name: inventory for name, inventory in listed.items() if name not in missing}
    inventories = {key(name): inventory for name, inventory in known.items()}
    state = snapshot(listed, rules)
    whole = catalog(known, rules)
    return of_view(ViewRules("part", None, backends, tools), whole, state, inventories)


@pytest.mark.parametrize("conflict", Conflict)
def test_a_backend_alone_has_its_own_names_whatever_the_others_offer(conflict: Conflict) -> None:
    found = alone("web", BOTH, Rules(conflict, priority_order=("git",)))

    assert routes(found.tools) == {"get": ("web", "get"), "log": ("web", "log")}
    assert found.prompts.names == ("ask", "greet")
    assert found.resources.names == ("x://1",)
    assert found.templates.names == ("web://{id}",)
    assert found.problems == ()


def test_overrides_filters_and_exclusions_hold_for_a_backend_alone() -> None:
    own = ToolRules(frozenset({"history", "diff"}), overrides={"log": ToolOverride(name="history")})

    assert alone("git", BOTH, Rules(tools={"git": own})).tools.names == ("diff", "history")
    assert alone("git", BOTH, Rules(exclude_all_tools=True)).tools.names == ()
    assert alone("git", BOTH, Rules(show_unnamed=False)).tools.names == ()
    assert alone("git", BOTH, Rules(tools={"git": own}, show_unnamed=False)).tools.names


def test_a_name_that_is_not_valid_is_made_valid_for_a_backend_alone_too() -> None:
    listed = {"git": lists(["a/b"])}

    found = alone("git", listed)

    (name,) = found.tools.names
    assert name.startswith("a_b_")
    assert catalog(listed).tools.names == (f"git_{name}",)


def test_a_backend_alone_that_is_not_listed_yet_shows_nothing_and_is_there() -> None:
    found = of_backend(backend("git"), snapshot(("git", "web")), {})

    assert found.tools.names == ()
    assert found.backends == (key("git"),)


def test_a_backend_alone_reads_every_uri_that_nobody_lists() -> None:
    found = alone("git", BOTH)

    entry = found.resource("other://thing")

    assert found.has_only_reader
    assert entry is not None
    assert entry.backend == key("git")


def test_a_view_of_backends_shows_all_that_they_offer_by_the_names_of_the_whole() -> None:
    found = part(BOTH, backends=("web",))

    assert routes(found.tools) == {"web_get": ("web", "get"), "web_log": ("web", "log")}
    assert found.prompts.names == ("web_ask", "web_greet")
    assert found.templates.names == ("web://{id}",)
    assert tuple(found.peers) == found.backends == (key("web"),)


def test_a_uri_belongs_to_the_first_of_the_views_own_backends() -> None:
    whole = catalog(BOTH).resource("x://1")
    found = part(BOTH, backends=("web",)).resource("x://1")

    assert whole is not None
    assert found is not None
    assert (whole.backend.name, found.backend.name) == ("git", "web")


def test_a_view_of_tools_shows_the_prompts_and_resources_of_the_backends_that_have_them() -> None:
    found = part(BOTH, tools=("git_log",))

    assert found.tools.names == ("git_log",)
    assert found.prompts.names == ("git_greet",)
    assert found.backends == (key("git"),)


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (("git_log", "web_get"), ("git_log", "web_get")),
        (("git_*",), ("git_diff", "git_log", "git_push")),
        (("*_log",), ("git_log", "web_log")),
        (("*g*t*",), ("git_diff", "git_log", "git_push", "web_get")),
        (("*",), ("git_diff", "git_log", "git_push", "web_get", "web_log")),
        (("**",), ("git_diff", "git_log", "git_push", "web_get", "web_log")),
        (("git_log*",), ("git_log",)),
        (("git.log", "GIT_LOG"), ()),
    ],
)
def test_a_star_stands_for_any_characters_and_all_else_for_itself(
    tools: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert part(BOTH, tools=tools).tools.names == names


def _by_the_book(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(_by_the_book(pattern[1:], name[at:]) for at in range(len(name) + 1))
    return bool(name) and name[0] == pattern[0] and _by_the_book(pattern[1:], name[1:])


@given(st.text("ab*", min_size=1, max_size=6), st.lists(st.text("ab", min_size=1, max_size=6)))
def test_what_a_pattern_matches_is_what_its_stars_can_be_filled_for(
    pattern: str, names: list[str]
) -> None:
    rules = Rules(Conflict.MANUAL)
    listed = {"x": lists(dict.fromkeys(names))}

    found = part(listed, tools=(pattern,), rules=rules)

    assert set(found.tools.names) == {name for name in names if _by_the_book(pattern, name)}


def test_many_stars_cost_no_more_than_few() -> None:
    listed = {"x": lists(["a" * 60])}
    began = perf_counter()

    part(listed, tools=("*a" * 30 + "b",))

    assert perf_counter() - began < 10


def test_backends_and_tools_limit_together() -> None:
    found = part(BOTH, backends=("web",), tools=("*_log", "web_get"))

    assert found.tools.names == ("web_get", "web_log")


def test_a_tool_that_is_not_in_the_whole_is_in_no_view() -> None:
    rules = Rules(Conflict.MANUAL)

    found = part(BOTH, backends=("web",), rules=rules)

    assert found.tools.names == ("get",)


def test_a_view_that_shows_a_whole_list_shares_it() -> None:
    whole = catalog(BOTH)
    inventories = {key(name): inventory for name, inventory in BOTH.items()}
    everything = ViewRules("part", None, ("git", "web"))

    found = of_view(everything, whole, snapshot(BOTH), inventories)

    assert found.tools is whole.tools
    assert found.prompts is whole.prompts


def test_a_view_shares_the_documents_of_the_whole() -> None:
    whole = catalog(BOTH)
    inventories = {key(name): inventory for name, inventory in BOTH.items()}

    found = of_view(ViewRules("part", None, ("git",)), whole, snapshot(BOTH), inventories)

    entry = found.tool("git_log")
    assert entry is not None
    assert entry is whole.tool("git_log")


def test_names_that_match_nothing_are_problems_of_the_view() -> None:
    found = part(BOTH, backends=("git", "gone"), tools=("git_log", "git_x", "web_*"))

    assert reasons(found) == [
        ("part", "BackendUnknown"),
        ("part", "ToolUnmatched"),
        ("part", "ToolUnmatched"),
    ]
    unmatched = "which matches no tool of its backends; views go by the names that clients see."
    assert messages(found) == [
        "View 'part' names backend 'gone', but no backend has that name.",
        f"View 'part' names tool 'git_x', {unmatched}",
        f"View 'part' names tool 'web_*', {unmatched}",
    ]


def test_a_tool_is_missed_only_once_all_that_may_have_it_are_listed() -> None:
    some, missing = ("git_x",), frozenset({"web"})

    assert part(BOTH, tools=some, missing=missing).problems == ()
    assert part(BOTH, backends=("git",), tools=some, missing=missing).problems != ()
    assert part(BOTH, backends=("web",), tools=some, missing=missing).problems == ()
