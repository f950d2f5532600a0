"""What is asked of a World."""

from __future__ import annotations

from dataclasses import replace

from tests.crd.worlds import config_map, entry, group, secret, world
from vmcp.crd.world import World

BEFORE = [group(), entry("a"), entry("b"), secret("s", k="old")]


def differing(now: World, before: World) -> set[str]:
    return {f"{key.kind}/{key.name}" for key in now.differing(before)}


def test_objects_that_have_changed_come_or_gone_differ_and_no_others() -> None:
    now = world(group(), entry("a"), secret("s", k="new"), config_map("c", {}))

    assert differing(now, world(*BEFORE)) == {"MCPServerEntry/b", "Secret/s", "ConfigMap/c"}


def test_the_same_version_is_the_same_object_however_often_it_was_read() -> None:
    again = [group(), entry("a"), entry("b"), secret("s", k="old")]

    assert differing(world(*again), world(*BEFORE)) == set()


def test_all_objects_of_another_namespace_are_others() -> None:
    moved = [replace(one, key=replace(one.key, namespace="other")) for one in BEFORE]
    now = World("other", {one.key: one for one in moved})

    assert now.differing(world(*BEFORE)) == {*world(*BEFORE).things, *now.things}


def test_objects_of_a_kind_come_in_the_order_of_their_names() -> None:
    found = world(entry("b"), group("c"), entry("a"), secret("d"))

    assert [each.key.name for each in found.of_kind("MCPServerEntry")] == ["a", "b"]
    assert [*found.of_kind("Secret")] == []
