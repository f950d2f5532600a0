from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.builders import (
    catalog,
    document,
    key,
    lists,
    messages,
    reasons,
    routes,
    snapshot,
    tool,
)
from vmcp.catalog.build import build
from vmcp.catalog.listing import Listing
from vmcp.model.document import Document
from vmcp.model.inventory import Era, Inventory
from vmcp.model.problem import Problem
from vmcp.model.rules import Conflict, Rules, ToolOverride, ToolRules
from vmcp.model.snapshot import Snapshot

# Few letters, so that full names often collide; what is no valid name, so that some are rewritten.
BACKENDS = st.text(alphabet="ab_", min_size=1, max_size=3)
NAMES = st.one_of(
    st.text(alphabet="ab_", max_size=4),
    st.sampled_from(["a/b", "日本", "a.b", "x" * 70, "x" * 63 + "y", "a\ud800"]),
)
INVENTORIES = st.builds(
    lists,
    tools=st.lists(NAMES, max_size=4),
    prompts=st.lists(NAMES, max_size=3),
    resources=st.lists(NAMES, max_size=3),
    templates=st.lists(st.sampled_from(["r:{a}", "r:{b}", "r:{+c}", "r:{"]), max_size=3),
)
WORLDS = st.dictionaries(BACKENDS, INVENTORIES, max_size=5)
RULES = st.builds(
    Rules,
    conflict=st.sampled_from(Conflict),
    prefix_format=st.sampled_from(["{workload}_", "{workload}", "{workload}."]),
    priority_order=st.lists(BACKENDS, max_size=3).map(tuple),
    tools=st.dictionaries(
        BACKENDS,
        st.builds(
            ToolRules,
            filter=st.none() | st.frozensets(NAMES, max_size=3),
            exclude_all=st.booleans(),
            overrides=st.dictionaries(NAMES, st.builds(ToolOverride, name=st.none() | NAMES)),
        ),
        max_size=2,
    ),
    show_unnamed=st.booleans(),
    max_name_length=st.sampled_from([16, 64]),
    allow_dots=st.booleans(),
)


def owned(world: Mapping[str, Inventory]) -> dict[object, Inventory]:
    return {key(name): replace(listed, backend=key(name)) for name, listed in world.items()}


def listings(world: Mapping[str, Inventory], rules: Rules) -> list[Listing]:
    found = catalog(world, rules)
    return [found.tools, found.prompts]


@given(WORLDS, RULES, st.randoms(use_true_random=False))
def test_no_order_of_backends_or_inventories_matters(world, rules, random) -> None:
    shuffled = list(world.items())
    random.shuffle(shuffled)
    backends = list(snapshot(world, rules).backends)
    random.shuffle(backends)

    other = build(Snapshot(tuple(backends), (), rules), owned(dict(shuffled)))

    assert other == catalog(world, rules)


@given(WORLDS, RULES)
def test_names_are_unique_valid_and_lead_to_their_entries(world, rules) -> None:
    found = catalog(world, rules)

    valid = re.compile(r"[A-Za-z0-9_.-]+" if rules.allow_dots else r"[A-Za-z0-9_-]+")
    for listing, lookup in ((found.tools, found.tool), (found.prompts, found.prompt)):
        assert len(set(listing.names)) == len(listing.names)
        assert all(valid.fullmatch(name) for name in listing.names)
        assert all(len(name) <= rules.max_name_length for name in listing.names)
        assert all(lookup(entry.name) is entry for entry in listing.entries)
    assert all(found.resource(entry.name) is entry for entry in found.resources.entries)
    assert all(found.template(entry.name) is entry for entry in found.templates.entries)


@given(WORLDS, RULES)
def test_everything_not_hidden_is_listed_or_told(world, rules) -> None:
    rules = replace(rules, tools={}, show_unnamed=True)

    found = catalog(world, rules)

    shown = set(routes(found.tools).values())
    for name, listed in world.items():
        for one in listed.tools:
            assert (name, one.name) in shown or any(
                problem.key == key(name) and "is not listed" in problem.message
                for problem in found.problems
            )


@given(WORLDS, st.sampled_from(["{workload}_", "{workload}."]), st.data())
def test_under_prefix_no_other_backend_changes_a_name(world, prefix_format, data) -> None:
    rules = Rules(prefix_format=prefix_format)
    some = {name: listed for name, listed in world.items() if data.draw(st.booleans())}
    full = {
        (name, own.name): prefix_format.replace("{workload}", name) + own.name
        for name, listed in world.items()
        for own in (*listed.tools, *listed.prompts)
    }
    shared = {pair for pair in full if list(full.values()).count(full[pair]) > 1}

    for few, all_of_them in zip(listings(some, rules), listings(world, rules), strict=True):
        alone = {pair: name for name, pair in routes(few).items()}
        together = {pair: name for name, pair in routes(all_of_them).items()}
        assert all(together[pair] == alone[pair] for pair in alone.keys() - shared)


@given(WORLDS, RULES)
def test_only_the_name_of_a_document_changes(world, rules) -> None:
    rules = replace(rules, tools={})

    found = catalog(world, rules)

    for entry in (*found.tools.entries, *found.prompts.entries):
        expected = {b'"name"': b'"%b"' % entry.name.encode()} if entry.renamed else {}
        own = entry.own_document.members
        assert entry.document == Document(tuple((k, expected.get(k, v)) for k, v in own))


def test_a_document_that_keeps_its_name_is_the_very_one_of_the_inventory() -> None:
    own = tool("x", _meta=b'{"n": 1.0}')

    entry = catalog({"a": lists(tools=[own])}, Rules(conflict=Conflict.MANUAL)).tool("x")

    assert entry is not None
    assert entry.document is own.document


def test_nothing_gives_an_empty_catalog() -> None:
    found = build(Snapshot(), {})

    assert [len(each) for each in (found.tools, found.prompts, found.resources)] == [0, 0, 0]
    assert found.problems == ()
    assert found.resource("x:") is None


def test_only_backends_that_are_known_and_listed_contribute() -> None:
    inventories = {key("a"): lists(tools=["x"]), key("gone"): lists(tools=["y"])}

    found = build(snapshot(["a", "silent"]), inventories)

    assert found.tools.names == ("a_x",)
    assert list(found.peers) == [key("a")]


def test_problems_of_inventories_are_told_once() -> None:
    problem = Problem(key("a"), "ToolInvalid", "Tool 'y' has no name.")
    listed = replace(lists(tools=["x/y"]), problems=(problem, problem))

    found = catalog({"a": listed})

    assert reasons(found) == [("a", "NameRewritten"), ("a", "ToolInvalid")]


@given(WORLDS, RULES)
def test_problems_are_sorted(world, rules) -> None:
    problems = catalog(world, rules).problems

    assert list(problems) == sorted(set(problems))


def test_rules_for_backends_that_do_not_exist_are_told() -> None:
    rules = Rules(tools={"b": ToolRules(), "a": ToolRules()}, priority_order=("c", "a"))

    assert messages(build(snapshot(["a"], rules), {})) == [
        (
            "aggregation.conflictResolutionConfig.priorityOrder names 'c', but no backend has that"
            " name."
        ),
        "aggregation.tools names 'b', but no backend has that name.",
    ]


def test_a_catalog_behind_another_one_is_callable_by_whole_names() -> None:
    tools = ["x_y__z", "x.y", "x" * 60]
    inner = catalog({"files": lists(tools=tools)})

    outer = [catalog({"east": lists(tools=inner.tools.names)}) for _ in range(2)]

    assert outer[0] == outer[1]
    for entry in outer[0].tools.entries:
        reached = inner.tool(entry.own_name)
        assert reached is not None
        assert len(entry.name) <= 64
        assert reached.own_name in tools
    assert len(outer[0].tools) == 3


def test_changing_one_document_changes_the_digest_of_its_list_alone() -> None:
    before = catalog({"a": lists(tools=[tool("x", title="1")], prompts=["p"])})

    after = catalog({"a": lists(tools=[tool("x", title="2")], prompts=["p"])})

    assert after.tools.digest != before.tools.digest
    assert after.prompts.digest == before.prompts.digest


def test_a_rename_is_all_that_clients_see_of_it() -> None:
    found = catalog({"a": lists(tools=[tool("x", title="T")])})

    page = found.tools.page(None, 10, Era.STATELESS)

    expected = document(name="a_x", inputSchema={"type": "object"}, title="T")
    assert page.items == expected.join()
