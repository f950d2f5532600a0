"""Secrets and ConfigMaps are watched by name while they are referred to, and otherwise past a number of them."""

from __future__ import annotations

from tests.kube.scenes import FakeScene, Scene, config, watching
from tests.support.kube_api import FakeApi
from tests.support.waiting import until
from vmcp.kube.named import MOST_WATCHES
from vmcp.kube.resource import CONFIG_MAPS, SECRETS, Key
from vmcp.kube.sync import Phase
from vmcp.kube.watches import Watches

MAPS = CONFIG_MAPS
MANY = [f"m{number:03}" for number in range(MOST_WATCHES + 6)]
SECONDS = 20.0


def held(watches: Watches) -> dict[str, str]:
    found = watches.store.all(MAPS)
    return {name: one.content["data"].get("key", "") for name, one in found.items()}


async def test_only_what_is_referred_to_is_known(scene: Scene) -> None:
    await scene.put(MAPS, config("one", key="1"))
    await scene.put(MAPS, config("two", key="2"))
    async with watching(scene, {}) as watches:
        watches.refer(MAPS, ["one"])
        await until(lambda: held(watches) == {"one": "1"})

        watches.refer(MAPS, ["two"])
        await until(lambda: held(watches) == {"two": "2"})
        await scene.put(MAPS, config("two", key="3"))
        await until(lambda: held(watches) == {"two": "3"})
        await scene.delete(MAPS, "two")
        await until(lambda: held(watches) == {})


async def test_what_is_missing_is_known_to_be_missing_and_comes_by_itself(scene: Scene) -> None:
    async with watching(scene, {}) as watches:
        watches.refer(MAPS, ["later"])
        await until(lambda: watches.sync_by_name(MAPS, "later").is_settled)
        assert held(watches) == {}

        await scene.put(MAPS, config("later", key="1"))

        await until(lambda: held(watches) == {"later": "1"})


async def test_past_a_number_all_are_watched_as_one(scene: Scene) -> None:
    for name in [*MANY, "nobody-asked"]:
        await scene.put(MAPS, config(name, key=name))
    wanted = {name: name for name in MANY}
    async with watching(scene, {}) as watches:
        watches.refer(MAPS, MANY[:3])
        await until(lambda: len(held(watches)) == 3)
        watches.refer(MAPS, MANY)
        await until(lambda: held(watches) == wanted, SECONDS)

        await scene.put(MAPS, config(MANY[0], key="new"))
        await scene.put(MAPS, config("nobody-asked", key="new"))
        await until(lambda: held(watches) == {**wanted, MANY[0]: "new"}, SECONDS)
        watches.refer(MAPS, MANY[:2])
        await until(lambda: held(watches) == {MANY[0]: "new", MANY[1]: MANY[1]}, SECONDS)
        await scene.put(MAPS, config(MANY[1], key="newer"))
        await until(lambda: held(watches)[MANY[1]] == "newer", SECONDS)


async def test_a_name_that_is_added_to_many_is_read(fake_scene: FakeScene) -> None:
    for name in [*MANY, "more"]:
        await fake_scene.put(MAPS, config(name, key=name))
    async with watching(fake_scene, {}) as watches:
        watches.refer(MAPS, MANY)
        await until(lambda: len(held(watches)) == len(MANY))

        watches.refer(MAPS, [*MANY, "more"])

        await until(lambda: held(watches).get("more") == "more")


async def test_many_that_cannot_be_watched_as_one_are_watched_and_looked_at(
    fake: FakeApi, fake_scene: FakeScene
) -> None:
    fake.only_by_name = {"configmaps"}
    for name in MANY:
        await fake_scene.put(MAPS, config(name, key=name))
    async with watching(fake_scene, {}) as watches:
        watches.refer(MAPS, MANY)
        await until(lambda: len(held(watches)) == len(MANY), SECONDS)
        assert {sync.phase for sync in watches.syncs_by_name(MAPS).values()} == {Phase.SYNCED}

        await fake_scene.put(MAPS, config(MANY[-1], key="looked"))
        await fake_scene.put(MAPS, config(MANY[0], key="watched"))
        await until(lambda: held(watches)[MANY[0]] == "watched")
        await until(lambda: held(watches)[MANY[-1]] == "looked", SECONDS)
        fake.only_by_name.clear()
        await until(
            lambda: watches.sync_by_name(MAPS, MANY[0]) == watches.sync_by_name(MAPS, MANY[-1])
        )


async def test_who_may_not_read_a_name_is_told_so(fake: FakeApi, fake_scene: FakeScene) -> None:
    fake.denied = {"configmaps"}
    async with watching(fake_scene, {}) as watches:
        watches.refer(MAPS, ["one"])
        await until(lambda: watches.sync_by_name(MAPS, "one").phase is Phase.FORBIDDEN)
        assert Key(MAPS, "one") in await watches.bell.rung()

        fake.denied = set()
        await fake_scene.put(MAPS, config("one", key="1"))

        await until(lambda: held(watches) == {"one": "1"})


async def test_what_is_referred_to_again_past_that_number_is_read_again(scene: Scene) -> None:
    wanted = {name: name for name in MANY}
    for name in MANY:
        await scene.put(MAPS, config(name, key=name))
    async with watching(scene, {}) as watches:
        watches.refer(MAPS, MANY)
        await until(lambda: held(watches) == wanted, SECONDS)
        watches.refer(MAPS, MANY[1:])
        await until(lambda: MANY[0] not in held(watches))

        watches.refer(MAPS, MANY)

        await until(lambda: held(watches) == wanted, SECONDS)


async def test_a_name_that_is_a_path_leads_nowhere(fake: FakeApi, fake_scene: FakeScene) -> None:
    fake.only_by_name = {"configmaps"}
    await fake_scene.put(SECRETS, {"metadata": {"name": "other"}, "data": {"key": "dg=="}})
    for name in MANY:
        await fake_scene.put(MAPS, config(name, key=name))
    path = f"z/../../{SECRETS.plural}/other"
    async with watching(fake_scene, {}) as watches:
        watches.refer(MAPS, [*MANY, path])

        await until(lambda: watches.sync_by_name(MAPS, path).is_listed, SECONDS)
        await until(lambda: len(held(watches)) == len(MANY), SECONDS)
        assert held(watches).keys() == {*MANY}


async def test_what_was_looked_at_is_known_while_another_name_is_added(
    fake: FakeApi, fake_scene: FakeScene
) -> None:
    fake.only_by_name = {"configmaps"}
    for name in [*MANY, "z"]:
        await fake_scene.put(MAPS, config(name, key=name))
    async with watching(fake_scene, {}) as watches:
        watches.refer(MAPS, MANY)
        await until(lambda: len(held(watches)) == len(MANY), SECONDS)
        before = len(fake.asked)

        watches.refer(MAPS, [*MANY, "z"])
        await until(lambda: held(watches).get("z") == "z", SECONDS)

        # All as one, the new one, and perhaps one whose turn it is; not all that were looked at.
        assert len(fake.asked) - before < len(MANY) - MOST_WATCHES
