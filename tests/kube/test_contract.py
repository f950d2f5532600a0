"""What our client takes for granted of an API server: true of the real one and of the fake alike."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace

import pytest

from tests.kube.scenes import SOON, Scene, asking, config
from vmcp.kube.client import JSON, ApiServer
from vmcp.kube.errors import Refused
from vmcp.kube.reading import Event, Gone, Listed, Put, Scope, listed, watched
from vmcp.kube.resource import CONFIG_MAPS, LEASES, SECRETS, Resource
from vmcp.kube.trimming import config_map

MAPS = CONFIG_MAPS
ABSENT = Resource("absent.test", ("v1",), "Absent", "absents")


def scope(scene: Scene, name: str | None = None) -> Scope:
    return Scope(MAPS, scene.namespace, name, None, config_map)


async def listing(server: ApiServer, scene: Scene, name: str | None = None) -> Listed:
    return await listed(server, scope(scene, name), "v1", SOON)


def ours(found: Listed) -> list[str]:
    # A real namespace gets a ConfigMap with the cluster's CA by itself.
    return [each.name for each in found.found if each.name != "kube-root-ca.crt"]


async def events(server: ApiServer, scene: Scene, since: str, number: int) -> list[Event]:
    found: list[Event] = []
    stream = watched(server, scope(scene), "v1", since=since, pace=SOON)
    async with aclosing(stream):
        async for event in stream:
            change = event.change
            if isinstance(change, Put) and change.found.name == "kube-root-ca.crt":
                continue
            found.append(event)
            if len(found) == number:
                break
    return found


async def test_a_list_is_joined_from_its_pages(scene: Scene) -> None:
    for name in "abcde":
        await scene.put(MAPS, config(name, key=name))

    async with asking(scene.login) as server:
        found = await listed(server, scope(scene), "v1", replace(SOON, page=2))

    assert ours(found) == ["a", "b", "c", "d", "e"]


async def test_a_watch_tells_what_happened_since_the_list_in_order(scene: Scene) -> None:
    async with asking(scene.login) as server:
        since = (await listing(server, scene)).since
        await scene.put(MAPS, config("one", key="1"))
        await scene.put(MAPS, config("one", key="2"))
        await scene.delete(MAPS, "one")

        _, added, changed, gone = await events(server, scene, since, 4)

    assert isinstance(added.change, Put)
    assert added.change.found.content["data"] == {"key": "1"}
    assert isinstance(changed.change, Put)
    assert changed.change.found.content["data"] == {"key": "2"}
    assert gone.change == Gone("one")
    assert int(since) < int(added.since) < int(changed.since) < int(gone.since)


async def test_a_watch_from_a_forgotten_version_is_refused_as_expired(scene: Scene) -> None:
    async with asking(scene.login) as server:
        since = (await listing(server, scene)).since
        await scene.put(MAPS, config("one"))
        await scene.forget()

        with pytest.raises(Refused) as refused:
            await events(server, scene, since, 2)

    assert refused.value.status == 410


async def test_one_object_is_listed_by_its_name(scene: Scene) -> None:
    await scene.put(MAPS, config("one"))
    await scene.put(MAPS, config("two"))

    async with asking(scene.login) as server:
        found = await listing(server, scene, "two")

    assert ours(found) == ["two"]


async def test_a_kind_that_is_not_installed_is_not_found(scene: Scene) -> None:
    await scene.allow(MAPS, ABSENT)

    async with asking(scene.login) as server:
        with pytest.raises(Refused) as refused:
            await server.get(ABSENT.path("v1", scene.namespace), {})

    assert refused.value.status == 404


async def test_a_kind_that_the_role_does_not_name_is_forbidden(scene: Scene) -> None:
    await scene.allow(MAPS)

    async with asking(scene.login) as server:
        with pytest.raises(Refused) as refused:
            await server.get(SECRETS.path("v1", scene.namespace), {})

    assert refused.value.status == 403


async def test_who_writes_from_an_old_version_has_a_conflict(scene: Scene) -> None:
    await scene.put(LEASES, {"metadata": {"name": "lease"}})
    path = LEASES.path("v1", scene.namespace, "lease")

    async with asking(scene.login) as server:
        old = await server.get(path, {})
        new = {**old, "spec": {"holderIdentity": "me"}}
        await server.send("PUT", path, new, query={}, content_type=JSON)
        with pytest.raises(Refused) as refused:
            await server.send("PUT", path, new, query={}, content_type=JSON)

    assert refused.value.status == 409
