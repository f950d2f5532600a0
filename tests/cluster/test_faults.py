"""Whatever befalls the real API server, the store ends up true: it is compared with a list after each fault."""

from __future__ import annotations

import asyncio
import gc
import resource
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from tests.cluster.widgets import Widgets
from tests.kube.scenes import ALLOWED, SOON, RealScene, asking, config, watching
from tests.support.cluster.cluster import Cluster
from tests.support.waiting import until
from vmcp.clock import SystemClock
from vmcp.kube.client import ApiServer
from vmcp.kube.login import InCluster
from vmcp.kube.pace import Pace
from vmcp.kube.resource import CONFIG_MAPS, SECRETS, Resource
from vmcp.kube.sync import Phase
from vmcp.kube.trimming import Trim, config_map, keeping, secret
from vmcp.kube.watches import Watches

MAPS = CONFIG_MAPS
KINDS: Mapping[Resource, Trim] = {MAPS: config_map}
SECONDS = 40.0
# How many watches of a second each a test sits through.
WATCHES = 12
MOST_BYTES = 40 * 2**20


def held(watches: Watches, resource: Resource = MAPS) -> dict[str, object]:
    return {name: found.content for name, found in watches.store.all(resource).items()}


def told(scene: RealScene, trim: Trim = config_map) -> dict[str, object]:
    path = MAPS.path("v1", scene.namespace)
    items = scene.cluster.admin.do("GET", path)["items"]
    return {each["metadata"]["name"]: trim({**each, "apiVersion": "v1"}) for each in items}


def holds(watches: Watches, name: str, value: str) -> bool:
    found = watches.store.get(MAPS, name)
    return found is not None and found.content["data"].get("key") == value


async def is_true(watches: Watches, scene: RealScene) -> None:
    """Compare the store with what the server says now."""
    await until(lambda: held(watches) == told(scene), SECONDS)


@contextmanager
def disturbed(cluster: Cluster) -> Iterator[None]:
    """Leave the cluster running after the block."""
    try:
        yield
    finally:
        cluster.etcd.resume()
        cluster.api.resume()
        cluster.start()


@dataclass(frozen=True)
class Informed:
    server: ApiServer
    watches: Watches


@asynccontextmanager
async def informing(scene: RealScene, pace: Pace) -> AsyncIterator[Informed]:
    async with asking(scene.login) as server:
        watches = Watches(
            server, scene.namespace, kinds=KINDS, by_name={}, clock=SystemClock(), pace=pace
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(watches.run())
            yield Informed(server, watches)
            task.cancel()


async def test_a_crash_of_the_api_server_is_survived(scene: RealScene) -> None:
    cluster = scene.cluster
    await scene.put(MAPS, config("before", key="1"))
    async with watching(scene, KINDS) as watches:
        await is_true(watches, scene)
        before = held(watches)
        with disturbed(cluster):
            cluster.api.kill()
            await until(lambda: watches.sync(MAPS).phase is Phase.FAILING)
            assert held(watches) == before
            cluster.revive()
            await asyncio.to_thread(cluster.wait_ready)

            # All history before the start is forgotten now.
            await scene.put(MAPS, config("before", key="2"))
            await scene.put(MAPS, config("after", key="1"))

            await is_true(watches, scene)
            assert watches.sync(MAPS).phase is Phase.SYNCED


async def test_what_was_deleted_while_nobody_could_look_is_gone(scene: RealScene) -> None:
    cluster = scene.cluster
    await scene.put(MAPS, config("goes"))
    async with watching(scene, KINDS) as watches:
        await is_true(watches, scene)
        await scene.allow()
        with disturbed(cluster):
            cluster.api.kill()
            cluster.revive()
            await asyncio.to_thread(cluster.wait_ready)
            await until(lambda: watches.sync(MAPS).phase is Phase.FORBIDDEN, SECONDS)
            await scene.delete(MAPS, "goes")
            assert "goes" in held(watches)

            await scene.allow(*ALLOWED)

            await until(lambda: "goes" not in held(watches), SECONDS)
            await is_true(watches, scene)


async def test_a_stalled_server_is_waited_for_and_then_left(scene: RealScene) -> None:
    async with informing(scene, replace(SOON, silent_seconds=2.0)) as informed:
        watches = informed.watches
        await is_true(watches, scene)
        with disturbed(scene.cluster):
            scene.cluster.api.pause()
            await until(lambda: watches.sync(MAPS).phase is Phase.FAILING, SECONDS)
            assert "silent" in watches.sync(MAPS).error
        await scene.put(MAPS, config("after", key="1"))

        await is_true(watches, scene)


async def test_a_stalled_storage_is_survived(scene: RealScene) -> None:
    async with watching(scene, KINDS) as watches:
        await is_true(watches, scene)
        with disturbed(scene.cluster):
            scene.cluster.etcd.pause()
            async with asyncio.TaskGroup() as group:
                group.create_task(scene.put(MAPS, config("late", key="1")))
                # A list from the cache is all that still works.
                path = f"{scene.path(SECRETS)}?resourceVersion=0"
                await asyncio.to_thread(scene.cluster.admin.do, "GET", path)
                scene.cluster.etcd.resume()

        await until(lambda: "late" in held(watches), SECONDS)
        await is_true(watches, scene)


async def test_watches_that_end_each_second_lose_nothing(scene: RealScene) -> None:
    async with informing(scene, replace(SOON, watch_seconds=1.0)) as informed:
        watches = informed.watches
        number = 0
        while informed.server.sent["WATCH"] < WATCHES:
            number += 1
            name, value = f"m{number % 7}", f"value {number}"
            await scene.put(MAPS, config(name, key=value))
            await until(partial(holds, watches, name, value), SECONDS)
        assert informed.server.sent["GET"] == 1
        await is_true(watches, scene)


async def test_a_thousand_rapid_changes_of_one_object_end_in_the_last(scene: RealScene) -> None:
    async with watching(scene, KINDS) as watches:
        for number in range(1000):
            await scene.put(MAPS, config("one", key=str(number)))

        await until(lambda: holds(watches, "one", "999"), SECONDS)
        await is_true(watches, scene)


async def test_compacted_history_while_a_watch_was_down_is_made_up_for(scene: RealScene) -> None:
    async with informing(scene, replace(SOON, watch_seconds=1.0)) as informed:
        watches = informed.watches
        await is_true(watches, scene)
        for number in range(10):
            await scene.put(MAPS, config("one", key=str(number)))
            await scene.forget()
        await scene.delete(MAPS, "one")
        await scene.forget()

        await is_true(watches, scene)


async def test_an_expired_token_is_exchanged_for_the_one_in_the_file(
    scene: RealScene, tmp_path: Path
) -> None:
    cluster = scene.cluster
    # The server forgives a minute: this one is good for eight more seconds.
    short = cluster.pki.token(scene.account, seconds=-52)
    folder = cluster.write_pod_files(tmp_path / "pod", scene.namespace, short)
    server = ApiServer(InCluster("127.0.0.1", str(cluster.port), folder), SystemClock())
    path = MAPS.path("v1", scene.namespace)
    await server.get(path, {})
    await until(lambda: cluster.admin.ask("GET", path, token=short).status == 401, SECONDS)
    (folder / "token").write_text(cluster.pki.token(scene.account, seconds=600))

    found = await server.get(path, {})
    await server.close()

    assert "items" in found


async def test_rights_that_are_taken_and_given_back_leave_the_store_true(scene: RealScene) -> None:
    async with informing(scene, replace(SOON, watch_seconds=1.0)) as informed:
        watches = informed.watches
        await is_true(watches, scene)
        await scene.allow()
        await until(lambda: watches.sync(MAPS).phase is Phase.FORBIDDEN, SECONDS)
        await scene.put(MAPS, config("missed", key="1"))

        await scene.allow(*ALLOWED)

        await until(lambda: watches.sync(MAPS).phase is Phase.SYNCED, SECONDS)
        await is_true(watches, scene)


async def test_a_kind_is_picked_up_when_it_is_installed(scene: RealScene, widgets: Widgets) -> None:
    kind = widgets.resource
    allow_widgets(scene, kind)
    async with watching(scene, {**KINDS, kind: keeping()}) as watches:
        await until(lambda: watches.is_settled, SECONDS)
        assert watches.sync(kind).phase is Phase.NOT_INSTALLED
        assert watches.sync(MAPS).phase is Phase.SYNCED

        await widgets.install("v1alpha1")
        await widgets.put(scene.namespace, "one", 1, "v1alpha1")
        await until(lambda: "one" in held(watches, kind), SECONDS)
        assert watches.sync(kind).version == "v1alpha1"

        # The watch ends with the change of the schema, and the preferred version is there now.
        await widgets.install("v1beta1", "v1alpha1")
        await widgets.put(scene.namespace, "two", 2)
        await until(lambda: "two" in held(watches, kind), SECONDS)

        await widgets.remove()
        await until(lambda: watches.sync(kind).phase is Phase.NOT_INSTALLED, SECONDS)
        assert held(watches, kind) == {}


def allow_widgets(scene: RealScene, resource: Resource) -> None:
    verbs = ["get", "list", "watch"]
    rules = [
        {"apiGroups": [group], "resources": [plural], "verbs": verbs}
        for group, plural in (("", "configmaps"), (resource.group, resource.plural))
    ]
    scene.cluster.allow(scene.namespace, "gateway", rules)


async def test_a_role_that_names_one_secret_suffices_for_it(scene: RealScene) -> None:
    verbs = ["get", "list", "watch"]
    one = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": verbs}
    await asyncio.to_thread(scene.cluster.allow, scene.namespace, "gateway", [one])
    for name in ("mine", "other"):
        await scene.put(SECRETS, {"metadata": {"name": name}, "data": {"k": "dg=="}})
    await scene.comes_to_see(f"{scene.path(SECRETS)}/other", is_allowed=False)
    async with watching(scene, {}, {SECRETS: secret}) as watches:
        watches.refer(SECRETS, ["mine", "other"])

        await until(lambda: "mine" in held(watches, SECRETS), SECONDS)
        await until(lambda: watches.sync_by_name(SECRETS, "other").phase is Phase.FORBIDDEN)
        assert "other" not in held(watches, SECRETS)


async def test_a_pods_files_and_a_client_certificate_both_log_in(
    scene: RealScene, tmp_path: Path
) -> None:
    cluster = scene.cluster
    token = cluster.pki.token(scene.account, seconds=600)
    folder = cluster.write_pod_files(tmp_path / "pod", scene.namespace, token)
    path = MAPS.path("v1", scene.namespace)
    by_files = ApiServer(InCluster("127.0.0.1", str(cluster.port), folder), SystemClock())
    by_certificate = replace(scene.login, files=str(cluster.kubeconfig))

    try:
        found = await by_files.get(path, {})
        async with asking(by_certificate) as server:
            assert (await server.get(path, {})).keys() == found.keys()
    finally:
        await by_files.close()


@pytest.mark.timeout(180)
async def test_five_thousand_objects_are_listed_in_pages_and_take_little_memory(
    scene: RealScene,
) -> None:
    names = [f"m{number:04}" for number in range(5000)]
    await many(scene, names)
    before = resident_bytes()
    async with watching(scene, KINDS) as watches:
        await until(lambda: watches.is_settled, SECONDS)
        grown = resident_bytes() - before
        assert held(watches).keys() >= set(names)
        await is_true(watches, scene)

    print(f"5,000 objects: {grown / 2**20:.0f} MB")  # noqa: T201 - shown where the test fails
    assert grown < MOST_BYTES


def resident_bytes() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def many(scene: RealScene, names: list[str]) -> None:
    """Make many objects, some at a time."""
    path = MAPS.path("v1", scene.namespace)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "x" * 200}}

    async with asking(replace(scene.login, files=str(scene.cluster.kubeconfig))) as server:

        async def make(part: list[str]) -> None:
            for name in part:
                one = {**body, "metadata": {"name": name}}
                await server.send("POST", path, one, query={}, content_type="application/json")

        async with asyncio.TaskGroup() as group:
            for number in range(16):
                group.create_task(make(names[number::16]))
