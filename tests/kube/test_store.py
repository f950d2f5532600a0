"""The store tells who has changed, and nothing of what it knew already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.virtual_time import in_virtual_time
from vmcp.kube.bell import Bell
from vmcp.kube.resource import CONFIG_MAPS, SECRETS, Key
from vmcp.kube.store import Store
from vmcp.kube.trimming import Kept


def one(name: str, value: int, version: str = "1") -> Kept:
    return Kept(name, version, {"value": value})


def rung(bell: Bell) -> set[str]:
    """Return the names that have rung by now."""
    return {key.name for key in bell.take()}


def test_an_object_that_holds_the_same_in_a_newer_version_rings_nothing() -> None:
    bell = Bell()
    store = Store(bell)
    store.put(SECRETS, one("a", 1))
    rung(bell)

    store.put(SECRETS, one("a", 1, version="2"))

    assert rung(bell) == set()
    found = store.get(SECRETS, "a")
    assert found is not None
    assert found.version == "2"


def test_kinds_of_one_name_are_kept_apart() -> None:
    store = Store(Bell())
    store.put(SECRETS, one("a", 1))
    store.put(CONFIG_MAPS, one("a", 2))

    assert dict(store.all(SECRETS)) == {"a": one("a", 1)}
    store.drop(SECRETS, "a")
    assert store.get(CONFIG_MAPS, "a") == one("a", 2)


def test_a_list_of_one_name_leaves_the_others() -> None:
    bell = Bell()
    store = Store(bell)
    for name in "ab":
        store.put(SECRETS, one(name, 1))
    rung(bell)

    store.replace(SECRETS, [], frozenset("a"))

    assert set(store.all(SECRETS)) == {"b"}
    assert rung(bell) == {"a"}


contents = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2))


@given(contents, contents)
def test_a_list_rings_for_exactly_what_it_changes(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    bell = Bell()
    store = Store(bell)
    store.replace(SECRETS, [one(name, value) for name, value in before.items()], None)
    rung(bell)

    store.replace(SECRETS, [one(name, value) for name, value in after.items()], None)

    names = before.keys() | after.keys()
    assert rung(bell) == {name for name in names if before.get(name) != after.get(name)}
    assert {n: found.content["value"] for n, found in store.all(SECRETS).items()} == dict(after)


@in_virtual_time
async def test_what_rings_while_nobody_listens_is_taken_at_once() -> None:
    bell = Bell()
    bell.ring([Key(SECRETS, "a")])
    bell.ring([Key(SECRETS, "b"), Key(SECRETS, "a")])

    assert await bell.rung() == {Key(SECRETS, "a"), Key(SECRETS, "b")}
