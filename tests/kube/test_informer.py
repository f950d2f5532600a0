"""The store stays true whatever the server does: on the fake and on the real one alike."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from tests.kube.scenes import SOON, FakeScene, Scene, config, watching
from tests.support.kube_api import FakeApi
from tests.support.waiting import until
from vmcp.kube.resource import CONFIG_MAPS, LEASES, SECRETS, Key, Resource
from vmcp.kube.sync import Phase
from vmcp.kube.trimming import Content, config_map, keeping, secret
from vmcp.kube.watches import Watches

MAPS = CONFIG_MAPS
KINDS = {MAPS: config_map}
ENTRIES = Resource("toolhive.stacklok.dev", ("v1beta1", "v1alpha1"), "MCPServerEntry", "entries")
SECONDS = 20.0


def held(watches: Watches) -> dict[str, str]:
    return {
        name: found.content["data"].get("key", "")
        for name, found in watches.store.all(MAPS).items()
        if name != "kube-root-ca.crt"
    }


async def holds(watches: Watches, wanted: dict[str, str]) -> None:
    await until(lambda: held(watches) == wanted, SECONDS)


async def test_objects_that_come_change_and_go_are_followed(scene: Scene) -> None:
    await scene.put(MAPS, config("there", key="before"))
    async with watching(scene, KINDS) as watches:
        await holds(watches, {"there": "before"})

        await scene.put(MAPS, config("new", key="1"))
        await holds(watches, {"there": "before", "new": "1"})
        await scene.put(MAPS, config("new", key="2"))
        await holds(watches, {"there": "before", "new": "2"})
        await scene.delete(MAPS, "there")
        await holds(watches, {"new": "2"})


async def test_forgotten_history_is_made_up_for_by_a_list(fake_scene: FakeScene) -> None:
    scene = fake_scene
    await scene.put(MAPS, config("goes", key="1"))
    await scene.put(MAPS, config("stays", key="1"))
    async with watching(scene, KINDS) as watches:
        await holds(watches, {"goes": "1", "stays": "1"})
        # Without a right to watch, changes are missed.
        await scene.allow()
        await scene.api.cut()
        await until(lambda: watches.sync(MAPS).phase is Phase.FORBIDDEN)
        await scene.delete(MAPS, "goes")
        await scene.put(MAPS, config("stays", key="2"))
        await scene.forget()
        assert held(watches) == {"goes": "1", "stays": "1"}

        await scene.allow(MAPS)

        await holds(watches, {"stays": "2"})
        assert watches.sync(MAPS).phase is Phase.SYNCED


async def test_a_change_rings_with_the_key_of_what_has_changed(fake_scene: FakeScene) -> None:
    async with watching(fake_scene, KINDS) as watches:
        assert await watches.bell.rung() == {Key(MAPS, "")}

        await fake_scene.put(MAPS, config("one", key="1"))

        assert await watches.bell.rung() == {Key(MAPS, "one")}


async def test_a_change_of_what_nobody_reads_rings_nothing(fake_scene: FakeScene) -> None:
    await fake_scene.put(MAPS, config("one", key="1"))
    async with watching(fake_scene, KINDS) as watches:
        await watches.bell.rung()
        noise = config("one", key="1")
        noise["metadata"]["annotations"] = {"noise": "1"}
        await fake_scene.put(MAPS, noise)
        await fake_scene.put(MAPS, config("two", key="1"))

        assert await watches.bell.rung() == {Key(MAPS, "two")}


async def test_watches_that_end_at_once_again_and_again_lose_nothing(
    fake: FakeApi, fake_scene: FakeScene
) -> None:
    async with watching(fake_scene, KINDS) as watches:
        await until(lambda: watches.is_settled)
        for number in range(20):
            await fake.cut()
            await fake_scene.put(MAPS, config("one", key=str(number)))
        await holds(watches, {"one": "19"})

    lists = [one for one in fake.asked if one == ("GET", "configmaps")]
    assert len(lists) < 60


async def test_a_watch_that_breaks_off_and_is_open_again_at_once_is_not_told(
    fake_scene: FakeScene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "vmcp.kube.informer")
    async with watching(fake_scene, KINDS) as watches:
        await fake_scene.put(MAPS, config("one", key="0"))
        await holds(watches, {"one": "0"})
        known = watches.sync(MAPS)
        for number in range(1, 6):
            await fake_scene.api.snap()
            await fake_scene.put(MAPS, config("one", key=str(number)))
            await holds(watches, {"one": str(number)})

        assert watches.sync(MAPS) == known
        assert [each.message for each in caplog.records] == ["a kind is known as it is now"]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_server_that_fails_for_a_while_is_asked_again(
    fake: FakeApi, fake_scene: FakeScene, status: int
) -> None:
    fake.failing = status
    async with watching(fake_scene, KINDS) as watches:
        await until(lambda: watches.sync(MAPS).phase is Phase.FAILING)
        assert str(status) in watches.sync(MAPS).error
        assert not watches.is_settled

        fake.failing = 0
        await fake_scene.put(MAPS, config("one", key="1"))

        await holds(watches, {"one": "1"})
        assert watches.sync(MAPS).phase is Phase.SYNCED
        assert watches.sync(MAPS).error == ""


async def test_a_kind_that_is_not_installed_stops_no_other_and_is_picked_up(
    fake: FakeApi, fake_scene: FakeScene
) -> None:
    async with watching(fake_scene, {**KINDS, ENTRIES: keeping()}) as watches:
        await fake_scene.put(MAPS, config("one", key="1"))
        await holds(watches, {"one": "1"})
        await until(lambda: watches.sync(ENTRIES).phase is Phase.NOT_INSTALLED)
        assert watches.is_settled

        fake.install(ENTRIES)
        await fake_scene.put(ENTRIES, {"metadata": {"name": "e"}, "spec": {"remoteUrl": "x"}})

        await until(lambda: watches.store.get(ENTRIES, "e") is not None)
        assert watches.sync(ENTRIES).phase is Phase.SYNCED
        assert watches.sync(ENTRIES).version == "v1beta1"


async def test_where_only_an_older_version_is_served_that_one_is_read(
    fake: FakeApi, fake_scene: FakeScene
) -> None:
    fake.install(ENTRIES, "v1alpha1")
    await fake_scene.put(ENTRIES, {"metadata": {"name": "e"}, "spec": {"remoteUrl": "x"}})
    async with watching(fake_scene, {ENTRIES: keeping()}) as watches:
        await until(lambda: watches.store.get(ENTRIES, "e") is not None)
        (found,) = watches.store.all(ENTRIES).values()

        assert watches.sync(ENTRIES).version == "v1alpha1"
        assert found.content["apiVersion"] == "toolhive.stacklok.dev/v1alpha1"


async def test_a_kind_that_is_removed_takes_its_objects_with_it(
    fake: FakeApi, fake_scene: FakeScene
) -> None:
    fake.install(ENTRIES)
    await fake_scene.put(ENTRIES, {"metadata": {"name": "e"}, "spec": {}})
    async with watching(fake_scene, {ENTRIES: keeping()}) as watches:
        await until(lambda: watches.store.get(ENTRIES, "e") is not None)

        fake.served.clear()
        await fake.cut()

        await until(lambda: watches.sync(ENTRIES).phase is Phase.NOT_INSTALLED)
        assert watches.store.get(ENTRIES, "e") is None


async def test_a_kind_that_is_not_found_for_a_moment_keeps_its_objects(
    fake: FakeApi, fake_scene: FakeScene
) -> None:
    # As where a server has started and does not know yet what is installed.
    pace = replace(SOON, not_installed_seconds=60.0)
    fake.install(ENTRIES)
    await fake_scene.put(ENTRIES, {"metadata": {"name": "e"}, "spec": {}})
    async with watching(fake_scene, {ENTRIES: keeping()}, pace=pace) as watches:
        await until(lambda: watches.store.get(ENTRIES, "e") is not None)

        fake.served.clear()
        await fake.cut()
        await until(lambda: "404" in watches.sync(ENTRIES).error)
        asked = len(fake.asked)
        await until(lambda: len(fake.asked) > asked + 4)

        assert watches.store.get(ENTRIES, "e") is not None
        fake.install(ENTRIES)
        await until(lambda: watches.sync(ENTRIES).phase is Phase.SYNCED)
        assert watches.store.get(ENTRIES, "e") is not None


async def test_a_forbidden_kind_is_told_and_tried_again_soon(scene: Scene) -> None:
    await scene.allow(MAPS)
    async with watching(scene, {**KINDS, LEASES: keeping()}) as watches:
        await until(lambda: watches.sync(LEASES).phase is Phase.FORBIDDEN)
        assert "403" in watches.sync(LEASES).error
        await until(lambda: watches.sync(MAPS).phase is Phase.SYNCED)

        await scene.allow(MAPS, LEASES)

        await until(lambda: watches.sync(LEASES).phase is Phase.SYNCED)


async def test_an_object_that_cannot_be_read_stops_no_other_kind(fake_scene: FakeScene) -> None:
    def picky(found: Content) -> Content:
        if found["metadata"]["name"] == "odd":
            raise ValueError(found["data"]["key"])
        return config_map(found)

    await fake_scene.put(MAPS, config("odd", key="hidden"))
    await fake_scene.put(SECRETS, {"metadata": {"name": "s"}})
    async with watching(fake_scene, {MAPS: picky, SECRETS: secret}, {}) as watches:
        await until(lambda: watches.sync(MAPS).phase is Phase.FAILING)
        await until(lambda: watches.sync(SECRETS).phase is Phase.SYNCED)
        assert "ValueError" in watches.sync(MAPS).error
        assert "hidden" not in watches.sync(MAPS).error

        await fake_scene.delete(MAPS, "odd")
        await fake_scene.put(MAPS, config("even", key="1"))

        await holds(watches, {"even": "1"})


async def test_secrets_show_in_no_repr(scene: Scene) -> None:
    await scene.put(SECRETS, {"metadata": {"name": "s"}, "data": {"token": "aHVzaA=="}})
    async with watching(scene, {}) as watches:
        watches.refer(SECRETS, ["s"])
        await until(lambda: watches.store.get(SECRETS, "s") is not None)
        found = watches.store.get(SECRETS, "s")

        assert found is not None
        assert found.content["data"]["token"].reveal() == "aHVzaA=="
        assert "aHVzaA" not in repr(found) + repr(found.content) + repr(watches.store.all(SECRETS))
