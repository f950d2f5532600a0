"""Files of manifests, written in all the ways in which people and programs write them."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from vmcp.crd.world import ConfigMapObject, SecretObject
from vmcp.discovery.documents import Broken, Placed, objects
from vmcp.discovery.gathered import gathered
from vmcp.model.secret import Secret

GROUP = """\
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPGroup
metadata:
  name: {}
"""


def read(text: str, file: str = "a.yaml", namespace: str = "default") -> tuple[Placed, ...]:
    found = objects(file, text, namespace)
    assert not isinstance(found, Broken), found
    return found


def names(text: str, file: str = "a.yaml") -> list[tuple[str, int]]:
    return [(one.thing.key.name, one.line) for one in read(text, file)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# nothing but words\n", []),
        ("---\n---\n# nothing\n---\n", []),
        (GROUP.format("a"), [("a", 1)]),
        (f"---\n{GROUP.format('a')}", [("a", 2)]),
        (f"{GROUP.format('a')}---\n{GROUP.format('b')}---\n", [("a", 1), ("b", 6)]),
        (f"{GROUP.format('a')}--- # another\n\n{GROUP.format('b')}...\n", [("a", 1), ("b", 7)]),
        (f"{GROUP.format('a')}---\n# left out\n---\n{GROUP.format('b')}", [("a", 1), ("b", 8)]),
        (f"\ufeff{GROUP.format('a')}", [("a", 1)]),
        (GROUP.format("a").replace("\n", "\r\n"), [("a", 1)]),
        (GROUP.format("'---'"), [("---", 1)]),
        (GROUP.format("a\t").replace(": ", ":\t"), [("a", 1)]),
    ],
)
def test_a_file_holds_any_number_of_documents(text: str, expected: list[tuple[str, int]]) -> None:
    assert names(text) == expected


def test_lists_and_json_hold_objects_too() -> None:
    one = {
        "apiVersion": "toolhive.stacklok.dev/v1alpha1",
        "kind": "MCPGroup",
        "metadata": {"name": "a"},
    }
    listed = {"apiVersion": "v1", "kind": "List", "items": [one]}

    assert names(json.dumps(one), "a.json") == [("a", 1)]
    assert names(json.dumps(listed), "a.json") == [("a", 1)]
    assert names(json.dumps({**listed, "kind": "MCPGroupList"}), "a.yaml") == [("a", 1)]


def test_other_kinds_are_passed_over() -> None:
    others = ("apps/v1\nkind: Deployment", "other.dev/v1\nkind: MCPServer", "v2\nkind: Secret")
    text = "---\n".join(f"apiVersion: {other}\nmetadata: {{name: x}}\n" for other in others)

    assert names(text) == []


@pytest.mark.parametrize(
    "odd",
    ["labels: {1: x}", "x: !vault y", "x: !!binary eA==", "<<: text", "{x: 1, x: 2}: y"],
)
def test_what_is_odd_in_an_object_of_another_kind_harms_no_other(odd: str) -> None:
    other = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: x}}\nspec:\n  {odd}\n"

    assert names(f"{other}---\n{GROUP.format('a')}") == [("a", 7)]
    assert isinstance(objects("a.yaml", GROUP.format("a") + f"spec:\n  {odd}\n", "x"), Broken)


def test_anchors_and_merge_keys_are_taken_as_by_kubectl() -> None:
    text = """\
apiVersion: v1
kind: List
x: &one {a: "1", b: "1"}
y: &two {b: "2", c: "2"}
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: m}
  data: {<<: [*one, *two], c: "3"}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: n}
  data: {d: <<, <<: *two}
"""

    held = [one.thing for one in read(text)]

    assert [one.values for one in held if isinstance(one, ConfigMapObject)] == [
        {"a": "1", "b": "1", "c": "3"},
        {"b": "2", "c": "2", "d": "<<"},
    ]


@pytest.mark.parametrize(
    ("text", "file", "message"),
    [
        (f"{GROUP.format('a')}---\nkind: [unclosed\n", "a.yaml", "Line "),
        ("a: 1\n---\nb: 2\n", "a.yaml", "Line 1: Holds what is no object"),
        ("---\n- 1\n", "a.yaml", "Line 2: Holds what is no object"),
        (f"{GROUP.format('a')}---\n{GROUP.format('')}", "a.yaml", "Line 6: Holds a MCPGroup"),
        (
            GROUP.format("a").replace("beta1", ""),
            "a.yaml",
            "Line 1: Holds a MCPGroup of an unknown",
        ),
        ("kind: A\nkind: B\n", "a.yaml", "Line 2: kind: Is there twice."),
        ('{\n"kind": }', "a.json", "Line 2: Is not JSON"),
        ('{"kind": "A", "kind": "B"}', "a.json", "Line 1: Holds a key twice."),
    ],
)
def test_a_broken_file_is_told_with_the_line(text: str, file: str, message: str) -> None:
    found = objects(file, text, "default")

    assert isinstance(found, Broken)
    assert found.message.startswith(message)


def test_values_of_secrets_are_text_or_base64() -> None:
    encoded = b64encode(b"one").decode()
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\ndata: {{a: {encoded}, b: '%%', c: /w==}}\n"
    (placed,) = read(f"{text}stringData: {{a: two}}\n")

    assert isinstance(placed.thing, SecretObject)
    assert placed.thing.values == {"a": Secret("two"), "b": None, "c": None}
    assert "two" not in repr(placed)


def test_values_of_config_maps_are_text_or_binary() -> None:
    encoded = b64encode(b"one").decode()
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\nbinaryData: {{a: {encoded}}}\n"
    (placed,) = read(f"{text}data: {{b: two}}\n")

    assert isinstance(placed.thing, ConfigMapObject)
    assert placed.thing.values == {"a": "one", "b": "two"}


def test_the_version_of_an_object_is_that_of_its_content() -> None:
    one, two = read(GROUP.format("a")), read(GROUP.format("a") + "  labels: {x: y}\n")
    other = read(GROUP.format("a") + "spec: {description: x}\n")

    assert one[0].thing.version == two[0].thing.version != other[0].thing.version


def in_namespace(name: str, namespace: str) -> str:
    return GROUP.format(name) + f"  namespace: {namespace}\n"


def test_a_missing_namespace_is_the_default_one() -> None:
    found = gathered(read(GROUP.format("a")), None)

    assert found.world.namespace == "default"
    assert [key.name for key in found.world.things] == ["a"]


def test_a_missing_namespace_is_the_one_that_was_asked_for() -> None:
    texts = (GROUP.format("a"), in_namespace("b", "blue"), in_namespace("c", "green"))
    placed = [one for text in texts for one in read(text, namespace="blue")]

    found = gathered(placed, "blue")

    assert [key.name for key in found.world.things] == ["a", "b"]


def test_the_only_namespace_is_served_and_one_of_several_is_chosen() -> None:
    one, two = read(in_namespace("a", "blue")), read(in_namespace("b", "green"), "b.yaml")

    assert gathered(one, None).world.namespace == "blue"
    assert [key.name for key in gathered([*one, *two], "green").world.things] == ["b"]
    undecided = gathered([*one, *two], None)
    assert not undecided.world.things
    assert [problem.reason for problem in undecided.problems] == ["NamespaceNotChosen"]


def test_of_an_object_that_is_there_twice_the_first_counts() -> None:
    first, second = read(GROUP.format("a")), read(GROUP.format("a"), "b.yaml")

    for order in ([*first, *second], [*second, *first]):
        found = gathered(order, None)

        assert [*found.world.things.values()] == [first[0].thing]
        (problem,) = found.problems
        assert problem.reason == "DuplicateObject"
        assert "a.yaml line 1" in problem.message
        assert "b.yaml line 1" in problem.message
