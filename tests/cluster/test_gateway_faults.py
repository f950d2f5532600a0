"""Whatever befalls the API server, a gateway goes on serving, and ends up with what a fresh look gives."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.team import (
    IS_FULL,
    MEMBERS,
    ODD,
    READABLE,
    SECONDS,
    USUAL,
    backends,
    entry,
    gateway,
    lasting,
    obj,
    team,
)
from tests.kube.scenes import asking
from tests.support.cluster.admin import Denied, Object
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.cutter import Cutter, cutting
from tests.support.cluster.definitions import PATH, install, path_of
from tests.support.cluster.resources import Resources
from tests.support.waiting import moment, until
from vmcp.clock import SystemClock
from vmcp.crd.definitions import definitions
from vmcp.crd.kinds import GROUP, KIND_OF
from vmcp.kube.login import ByKubeconfig

DOWN, STALLED, CUT = (30.0, 60.0, 60) if IS_FULL else (3.0, 5.0, 6)
UPDATES, OBJECTS, MOST_BYTES = (1000, 5000, 60 * 2**20) if IS_FULL else (200, 500, 30 * 2**20)
SOON_AGAIN = replace(USUAL, watch_seconds=1.0)
NOT_INSTALLED = ("CustomResourceDefinition", "KindNotInstalled")
OTHERS = [name for name in MEMBERS if not name.startswith("p")]
PROXIES = f"{KIND_OF['MCPRemoteProxy'].plural}.{GROUP}"
DEPTH, TOO_DEEP = 400, 3000

MEMBER: Object = {
    "groupRef": {"name": "tools"},
    "remoteUrl": "http://127.0.0.1:1/mcp",
    "transport": "streamable-http",
}
SERVER: Object = {**MEMBER, "image": "image"}
MALFORMED: tuple[Any, ...] = (
    None,
    "text",
    [],
    7,
    {},
    {**MEMBER, "groupRef": 7},
    {**MEMBER, "remoteUrl": {}},
    {**MEMBER, "remoteUrl": "http://[::1"},
    {**MEMBER, "remoteUrl": "http://127.0.0.1:99999/mcp"},
    {**MEMBER, "remoteUrl": "http://\u0000/\n"},
    {**MEMBER, "transport": "pigeon"},
    {**MEMBER, "headerForward": {"addPlaintextHeaders": {"Bad Name": "a\r\nb"}}},
    {**MEMBER, "headerForward": {"addHeadersFromSecret": {"headerName": 1}}},
    {**MEMBER, "caBundleRef": {"configMapRef": {"name": ODD, "key": "a\u0000"}}},
    {**MEMBER, "caBundleRef": {"configMapRef": {"name": ""}}},
    {**MEMBER, "externalAuthConfigRef": {"name": ["a0"]}},
    {**MEMBER, "remoteUrl": "https://example.com/" + "x" * 200_000, "groupRef": {}},
)

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def resources(cluster: Cluster) -> Resources:
    install(cluster)
    return Resources(cluster, *READABLE)


@contextmanager
def disturbed(cluster: Cluster) -> Iterator[None]:
    """Leave the cluster running after the block."""
    try:
        yield
    finally:
        cluster.api.resume()
        cluster.start()


async def test_an_api_server_that_is_away(resources: Resources) -> None:
    cluster = resources.cluster
    async with team(resources) as one, one.called("API server killed"):
        before = one.source.contribution.value
        with disturbed(cluster):
            cluster.api.kill()
            await until(lambda: not one.is_in_sync, SECONDS)
            await lasting(DOWN)
            assert one.source.contribution.value is before
            cluster.revive()
            await asyncio.to_thread(cluster.wait_ready)
        await one.change()


async def test_an_api_server_that_answers_nothing(resources: Resources) -> None:
    async with team(resources) as one, one.called("API server stalled"):
        before = one.source.contribution.value
        with disturbed(resources.cluster):
            resources.cluster.api.pause()
            await lasting(STALLED)
            assert one.source.contribution.value is before
        await one.change()


async def test_an_api_server_that_has_forgotten_all_history(resources: Resources) -> None:
    cluster = resources.cluster
    async with team(resources) as one, one.called("history compacted"):
        with disturbed(cluster):
            await one.change()
            cluster.api.kill()
            cluster.compact()
            cluster.revive()
            await asyncio.to_thread(cluster.wait_ready)
            await one.change()
            await asyncio.to_thread(cluster.compact)
            await one.change()


async def test_a_token_that_expires_and_is_exchanged_late(resources: Resources) -> None:
    cluster = resources.cluster
    path = cluster.folder / f"{resources.namespace}.short.kubeconfig"

    def exchange(seconds: float) -> None:
        token = cluster.pki.token(resources.account, seconds=seconds)
        cluster.write_kubeconfig(path, {"token": token}, resources.namespace)

    # The server forgives a minute, so this one is good for a while.
    exchange(-45)
    login = ByKubeconfig(str(path), None, SystemClock())
    async with team(resources, SOON_AGAIN, login) as one, one.called("token expired"):
        before = one.source.contribution.value
        await until(lambda: one.phases == {"failing"}, 60.0)
        assert one.source.contribution.value.backends == before.backends
        await one.change()
        exchange(3600)


async def test_rights_that_are_taken_and_given_back(resources: Resources) -> None:
    cluster = resources.cluster
    kind_forbidden = ("CustomResourceDefinition", "KindForbidden")
    async with team(resources, SOON_AGAIN) as one, one.called("RBAC removed"):
        before = one.source.contribution.value
        await asyncio.to_thread(cluster.allow, resources.namespace, "gateway", [])
        await until(lambda: one.phases == {"forbidden"}, SECONDS)
        assert kind_forbidden in one.problems
        await one.change()
        await lasting(2.0)
        assert one.source.contribution.value.backends == before.backends

        await asyncio.to_thread(resources.allow, *READABLE)

        await until(lambda: kind_forbidden not in one.problems, SECONDS)


async def test_rights_that_come_late(resources: Resources) -> None:
    cluster = resources.cluster
    await asyncio.to_thread(cluster.allow, resources.namespace, "gateway", [])
    token = cluster.pki.token(resources.account, seconds=600)
    place = path_of("MCPServerEntry", resources.namespace)
    # A Role is in force after a moment.
    await until(lambda: cluster.admin.ask("GET", place, token=token).status == 403, SECONDS)
    async with (
        backends() as far,
        gateway(resources, far, USUAL, resources.login()) as one,
    ):
        assert one.source.contribution.value.backends == ()
        assert ("CustomResourceDefinition", "KindForbidden") in one.problems
        await far.apply(resources)

        # A Role that lacks the Secrets comes first.
        await asyncio.to_thread(resources.allow)
        await until(lambda: ("MCPServerEntry", "SecretUnreadable") in one.problems, SECONDS)
        assert ("MCPServerEntry", "SecretNotFound") not in one.problems
        await asyncio.to_thread(resources.allow, *READABLE)
        await one.is_true("RBAC granted late")

        async with one.called("RBAC granted late"):
            await one.change()


async def test_a_thousand_changes_of_one_object(resources: Resources) -> None:
    async with team(resources) as one, one.called("rapid changes"):
        far = one.backends.plain[0].url
        for number in range(UPDATES):
            headers = {"addPlaintextHeaders": {"X-Number": str(number)}}
            await resources.put(entry("busy", far, headerForward=headers))


async def test_watches_that_end_each_second(resources: Resources) -> None:
    async with team(resources, SOON_AGAIN) as one, one.called("watches end each second"):
        for _ in range(CUT):
            await one.change()
            await lasting(1.0)


async def test_connections_that_are_cut_each_second(resources: Resources) -> None:
    async with cutting(resources.cluster.port) as cutter:
        login = through(cutter, resources)
        async with team(resources, USUAL, login) as one, one.called("connections cut each second"):
            for _ in range(CUT):
                await one.change()
                await lasting(1.0)
                cutter.cut()


def through(cutter: Cutter, resources: Resources) -> ByKubeconfig:
    """Return a login that leads over a way that is cut."""
    login = resources.login()
    cluster = resources.cluster
    path = cluster.folder / f"{resources.namespace}.cut.kubeconfig"
    direct = (cluster.folder / f"{resources.namespace}.kubeconfig").read_text()
    path.write_text(direct.replace(f":{cluster.port}", f":{cutter.port}"))
    return replace(login, files=str(path))


async def test_five_thousand_objects(resources: Resources) -> None:
    cluster = resources.cluster
    async with team(resources) as one, one.called("many objects"):
        before = resident_bytes()
        await many(resources, OBJECTS)
        await one.is_true(f"{OBJECTS} objects more")
        grown = resident_bytes() - before
        print(f"{OBJECTS} objects more: {grown / 2**20:.0f} MB")  # noqa: T201
        assert grown < MOST_BYTES
        with disturbed(cluster):
            cluster.api.kill()
            cluster.revive()
            await asyncio.to_thread(cluster.wait_ready)
        await one.change()


def resident_bytes() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


async def many(resources: Resources, count: int) -> None:
    """Make many entries of a group that is not served, some at a time."""
    path = path_of("MCPServerEntry", resources.namespace)
    login = ByKubeconfig(str(resources.cluster.kubeconfig), None, SystemClock())
    async with asking(login) as server:

        async def make(numbers: range) -> None:
            for number in numbers:
                one = entry(f"other{number:04}", "https://example.com/mcp", "other")
                await server.send("POST", path, one, query={}, content_type="application/json")

        async with asyncio.TaskGroup() as tasks:
            for first in range(16):
                tasks.create_task(make(range(first, count, 16)))


async def test_a_kind_that_goes_and_comes_again(resources: Resources) -> None:
    cluster = resources.cluster
    async with team(resources) as one, one.called("a kind comes and goes", OTHERS):
        async with known_again(cluster):
            await asyncio.to_thread(cluster.admin.do, "DELETE", f"{PATH}/{PROXIES}")
            await until(lambda: NOT_INSTALLED in one.problems, SECONDS)
            assert one.members == {*OTHERS}
        await one.backends.apply(resources)
        await until(lambda: one.members == {*MEMBERS}, SECONDS)


async def test_a_kind_that_is_installed_later(resources: Resources) -> None:
    cluster = resources.cluster
    async with known_again(cluster):
        await asyncio.to_thread(cluster.admin.do, "DELETE", f"{PATH}/{PROXIES}")
        async with backends() as far:
            await far.apply(resources, without="MCPRemoteProxy")
            async with gateway(resources, far, USUAL, resources.login()) as one:
                await one.is_true("a kind is missing", NOT_INSTALLED)
                assert one.members == {*OTHERS}
                async with one.called("a kind installed later", OTHERS):
                    await asyncio.to_thread(install, cluster)
                    await far.apply(resources)
                    await until(lambda: one.members == {*MEMBERS}, SECONDS)


@asynccontextmanager
async def known_again(cluster: Cluster) -> AsyncIterator[None]:
    """Have all kinds as they should be after the block."""
    try:
        yield
    finally:
        await asyncio.to_thread(install, cluster)


async def test_objects_that_nobody_foresaw(resources: Resources) -> None:
    async with team(resources) as one, one.called("malformed objects"):
        far = one.backends.plain[0].url
        async with known_again(resources.cluster):
            await lax(resources)
            for number, spec in enumerate(MALFORMED):
                await resources.put(obj("MCPServerEntry", f"wrong{number}", spec))
            await resources.put(
                entry("unknown", far, favourite={"colour": ["green", None, {"shade": 0.5}]}),
                obj("MCPServer", "deep", {**SERVER, "podTemplateSpec": nested(DEPTH)}),
                obj("MCPServer", "scalar", {**SERVER, "groupRef": "tools"}),
                obj("MCPExternalAuthConfig", "wrong", {"type": "magic", "magic": {}}),
                obj("MCPToolConfig", "wrong", {"toolsOverride": ["echo"]}),
                obj("MCPGroup", "wrong", "tools"),
                obj("VirtualMCPServer", "wrong", {"groupRef": []}),
            )
            await resources.report("MCPServer", "scalar", url={"no": "text"}, phase=7)
            await one.is_true("malformed objects")
            assert one.members == {*MEMBERS, "unknown"}
            wrong = [
                one for one in one.source.contribution.value.problems if "wrong" in one.key.name
            ]
            assert len(wrong) >= len(MALFORMED)
        await one.change()


async def test_an_object_that_is_nested_too_deep_hides_no_other(resources: Resources) -> None:
    cluster, path = resources.cluster, path_of("MCPServer", resources.namespace)
    async with backends() as far:
        await far.apply(resources)
        await asyncio.to_thread(post, cluster, path, deep())
        async with gateway(resources, far, USUAL, resources.login()) as one:
            await until(lambda: one.members == {*MEMBERS}, SECONDS)
            assert one.problems == {("MCPServer", "NotReady")}

            await resources.report("MCPServer", "m0", url="")
            await until(lambda: "m0" not in one.members, SECONDS)

            # Nobody else can read it, the checker among them.
            await resources.remove("MCPServer", "deep")
            await one.is_true("nested too deep")


def deep() -> str:
    """Return an object that the API server takes and no reader of JSON in Python."""
    nested = '{"a":' * TOO_DEEP + "1" + "}" * TOO_DEEP
    spec = json.dumps(SERVER)[:-1] + f', "podTemplateSpec": {nested}}}'
    return json.dumps({**obj("MCPServer", "deep"), "spec": "HERE"}).replace('"HERE"', spec)


def post(cluster: Cluster, path: str, text: str) -> None:
    """Make an object of a text that is not looked at."""
    tls = cluster.admin._tls
    connection = http.client.HTTPSConnection("127.0.0.1", cluster.port, context=tls, timeout=20)
    connection.request("POST", path, text, {"Content-Type": "application/json"})
    assert connection.getresponse().status == 201
    connection.close()


async def lax(resources: Resources) -> None:
    """Have definitions that let everything through, as those of another version may."""
    for each in definitions():
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        for version in each["spec"]["versions"]:
            version["schema"] = {"openAPIV3Schema": schema}
        await asyncio.to_thread(resources.cluster.admin.apply, PATH, each)
    first = obj("MCPGroup", "trial", "text")

    async def is_taken() -> bool:
        try:
            await resources.put(first)
        except Denied:
            return False
        return True

    async with asyncio.timeout(SECONDS):
        while not await is_taken():
            await moment()


def nested(depth: int) -> Any:
    found: Any = "end"
    for _ in range(depth):
        found = {"a": found}
    return found
