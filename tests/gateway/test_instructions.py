from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.gateway.builders import backend, inventory, key
from vmcp.catalog.build import build
from vmcp.catalog.lookup import Catalog
from vmcp.gateway.greeting import greeting
from vmcp.gateway.instructions import instructions
from vmcp.model.inventory import Era, Inventory
from vmcp.model.rules import Conflict, Rules, ToolOverride, ToolRules
from vmcp.model.snapshot import Snapshot

SAME = Rules(conflict=Conflict.PREFIX_ON_CONFLICT)
KIB = 2**10


def saying(name: str, text: str | None, *tools: str) -> Inventory:
    found = inventory(name, *tools)
    return replace(found, peer=replace(found.peer, instructions=text))


def built(*lists: Inventory, rules: Rules = SAME) -> tuple[Catalog, Snapshot]:
    snapshot = Snapshot(tuple(backend(each.backend.name) for each in lists), (), rules)
    return build(snapshot, {each.backend: each for each in lists}), snapshot


def told(*lists: Inventory, rules: Rules = SAME) -> str | None:
    catalog, snapshot = built(*lists, rules=rules)
    return instructions(catalog, snapshot.backends)


def test_each_backend_speaks_under_its_name_in_the_order_of_names() -> None:
    text = told(saying("b", "Ask twice.", "t"), saying("a", " Ask once.\n", "u"))

    assert text == "# a\n\nAsk once.\n\n# b\n\nAsk twice."


@pytest.mark.parametrize("empty", [None, "", " \n "], ids=["none", "empty", "blank"])
def test_a_backend_that_says_nothing_has_no_heading(empty: str | None) -> None:
    assert told(saying("a", empty, "t"), saying("b", "Yes.", "u")) == "# b\n\nYes."
    assert told(saying("a", empty, "t")) is None


def test_a_backend_that_is_not_listed_yet_is_left_out() -> None:
    snapshot = Snapshot((backend("a"), backend("b")), (), SAME)
    catalog = build(snapshot, {key("b"): saying("b", "Yes.")})

    assert instructions(catalog, snapshot.backends) == "# b\n\nYes."


def test_the_prefix_of_renamed_tools_is_told() -> None:
    text = told(saying("a", "Use x.", "x", "y"), rules=Rules())

    assert text == "# a\n\nIts tools are listed with the prefix `a_`.\n\nUse x."


def test_a_prefix_of_some_tools_is_told_as_such() -> None:
    text = told(saying("a", "Use x.", "x", "y"), saying("b", None, "x"))

    assert text == "# a\n\nSome of its tools are listed with the prefix `a_`.\n\nUse x."


def test_a_name_that_an_override_gave_is_no_prefix() -> None:
    override = ToolRules(overrides={"x": ToolOverride(name="search")})
    rules = replace(SAME, tools={"a": override})

    assert told(saying("a", "Use x.", "x"), rules=rules) == "# a\n\nUse x."


def test_a_heading_of_a_backend_stands_below_our_own() -> None:
    text = told(saying("a", "# b\nTrust me.\n## Not\n#tag", "t"))

    assert text == "# a\n\n## b\nTrust me.\n### Not\n#tag"


@pytest.mark.parametrize("word", ["word ", "größe ", "日本 ", "x" * 999], ids=str)
def test_a_long_text_is_cut_at_a_word_with_a_mark(word: str) -> None:
    text = told(saying("a", word * 3000, "t"))

    assert text is not None
    assert 3 * KIB < len(text.encode()) <= 4 * KIB
    assert text.endswith(f"{word.strip()} [...]" if len(word) < 9 else "x [...]")


def test_all_texts_together_are_bounded_and_the_short_ones_stay_whole() -> None:
    talkative = [saying(f"t{n:02}", "word " * 2000, "x") for n in range(20)]
    short = [saying(f"s{n:02}", "Say please.", "x") for n in range(20)]

    text = told(*talkative, *short) or ""

    assert 31 * KIB < len(text.encode()) <= 32 * KIB
    assert text.count("Say please.") == 20
    assert text.count("[...]") == 20


def test_of_very_many_backends_the_last_ones_are_counted_only() -> None:
    text = told(*[saying(f"b{n:04}", "word " * 100, "x") for n in range(1000)]) or ""

    assert len(text.encode()) <= 32 * KIB
    assert text.endswith("[The instructions of 872 more backends are left out.]")


def test_a_text_that_is_no_unicode_does_no_harm() -> None:
    catalog, snapshot = built(saying("a", "half \ud800 " * 2000, "t"))

    raw = b"{" + greeting(catalog, snapshot, Era.STATELESS) + b"}"

    assert json.loads(raw)["instructions"].startswith("# a\n\nhalf ")


def test_the_greeting_has_no_instructions_where_no_backend_gives_some() -> None:
    catalog, snapshot = built(saying("a", None, "t"))

    assert json.loads(b"{" + greeting(catalog, snapshot, Era.STATELESS) + b"}").keys() == {
        "capabilities"
    }
