"""Objects as YAML."""

from __future__ import annotations

import yaml

from vmcp.cli.manifest import document, documents


def test_keys_are_sorted_and_entries_of_lists_are_indented() -> None:
    assert document({"b": [1], "a": "x"}) == "a: x\nb:\n  - 1\n"


def test_what_is_there_twice_is_written_twice() -> None:
    shared = {"x": [1, 2]}

    text = document({"a": shared, "b": shared})

    assert "&" not in text
    assert yaml.safe_load(text) == {"a": shared, "b": shared}


def test_objects_are_separated() -> None:
    assert [*yaml.safe_load_all(documents([{"a": 1}, {"a": 2}]))] == [{"a": 1}, {"a": 2}]
