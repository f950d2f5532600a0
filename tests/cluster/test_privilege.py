"""A gateway as a process with no more rights than those of the chart, in front of real MCP servers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients import Client, sessioned, stateless, words
from tests.support.cluster.admin import Object
from tests.support.cluster.chart import CHART, installed
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import path_of
from tests.support.cluster.following import following, status
from tests.support.cluster.guarded import Guarded, guarded
from tests.support.cluster.helm import Helm
from tests.support.cluster.resources import Namespace
from tests.support.kube_api import kubeconfig
from tests.support.objects import CA, Json, ca, entry_at, group, obj, virtual
from tests.support.onlookers import Onlooker, onlooker
from tests.support.servers import Gateway, fixture_server, in_thread, run_gateway
from tests.support.waiting import moment

GATEWAY, SECONDS = "team", 20.0
FIRST, SECOND = "first-" + "a" * 40, "second-" + "b" * 40
VALUES: Object = {
    "virtualMCPServer": {"name": GATEWAY},
    "rbac": {"secretNames": ["weather-key"], "configMapNames": ["weather-ca"]},
    "allowAnonymous": True,
}
TIME = ("clock_convert_time", "clock_get_current_time")
NOW = {"name": "clock_get_current_time", "arguments": {"timezone": "UTC"}}


def key(value: str) -> Json:
    return obj("Secret", "weather-key", stringData={"value": value})


def auth() -> Json:
    token = {"tokenSecretRef": {"name": "weather-key", "key": "value"}}
    return obj(
        "MCPExternalAuthConfig", "weather-auth", {"type": "bearerToken", "bearerToken": token}
    )


def clock(server: Guarded, group_name: str = "tools") -> Json:
    reference = {"externalAuthConfigRef": {"name": "weather-auth"}}
    return entry_at(server.url, "clock", group_name, **CA, **reference)


@dataclass(frozen=True)
class Scene:
    """A namespace with the chart, its gateway as a process, and clients of both eras that look on."""

    home: Namespace
    token: str
    gateway: Gateway
    onlookers: tuple[Onlooker, ...]

    @property
    def callers(self) -> Iterator[Client]:
        return (each.caller for each in self.onlookers)

    async def sees(self, *tools: str) -> None:
        for each in self.onlookers:
            await each.sees(*tools)

    async def works(self) -> None:
        for caller in self.callers:
            assert '"timezone": "UTC"' in words(await caller.ask("tools/call", NOW))

    async def comes_to(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of which the processes tell."""
        async with asyncio.timeout(SECONDS):
            while not await asyncio.to_thread(holds):
                await moment()

    def ask(self, method: str, path: str, body: Object | None = None, **more: Any) -> int:
        """Return how the API server answers the gateway's own token."""
        at = path.format(self.home.namespace)
        return self.home.cluster.admin.ask(method, at, body, token=self.token, **more).status

    def written(self) -> Object:
        """Return the status that the gateway has written."""
        path = f"{path_of('VirtualMCPServer', self.home.namespace)}/{GATEWAY}"
        found: Object = self.home.cluster.admin.do("GET", path).get("status", {})
        return found


@asynccontextmanager
async def scene(cluster: Cluster, folder: Path) -> AsyncIterator[Scene]:
    home = Namespace(cluster)
    account = await asyncio.to_thread(installed, cluster, home.namespace, VALUES)
    token = cluster.pki.token(account, seconds=3600)
    login = cluster.write_kubeconfig(folder / "login", {"token": token}, home.namespace)
    async with (
        in_thread(following(home.namespace, GATEWAY, login)) as gateway,
        sessioned(gateway.url) as one,
        stateless(gateway.url) as two,
    ):
        looking = (await onlooker(one), await onlooker(two))
        yield Scene(home, token, gateway, looking)


@pytest.mark.timeout(180)
async def test_the_whole_journey_needs_no_more_than_the_rights_of_the_chart(
    taught: Cluster, tmp_path: Path
) -> None:
    async with (
        in_thread(fixture_server("sessioned")) as sdk,
        in_thread(guarded(tmp_path, "first", FIRST)) as server,
        scene(taught, tmp_path) as here,
    ):
        beside = await starts_empty(here, sdk)
        since = health_of(here, "sdk")["since"]
        await here.home.put(key(FIRST), ca("first"), auth(), clock(server))
        await here.sees(*beside, *TIME)
        await here.works()

        await has_its_keys_rotated(here, server)
        await loses_its_bundle_and_gets_it_back(here, beside)
        await leaves_its_group_and_is_deleted(here, server, beside)

        assert health_of(here, "sdk")["since"] == since
        assert what_else_is_answered(here) == {403}


async def starts_empty(here: Scene, sdk: str) -> list[str]:
    for caller in here.callers:
        assert await caller.tools() == []
    await here.home.put(group(), virtual(GATEWAY), entry_at(sdk, "sdk"))
    (first, *others) = here.onlookers
    await first.stream.heard("notifications/tools/list_changed")
    tools = await first.caller.tools()
    for each in others:
        await each.sees(*tools)
    return tools


async def has_its_keys_rotated(here: Scene, server: Guarded) -> None:
    server.exchange("second", SECOND)
    await comes_to_answer(here, is_error=True)
    before = health_of(here, "clock", None)["fingerprint"]

    await here.home.put(key(SECOND), ca("second"))

    # A second is what it takes; a slow machine needs more.
    async with asyncio.timeout(5):
        # Over a connection that the server has kept, the new key would do without the new authority.
        await here.comes_to(lambda: health_of(here, "clock", None)["fingerprint"] != before)
        await comes_to_answer(here, is_error=False)
    await here.works()


async def comes_to_answer(here: Scene, *, is_error: bool) -> None:
    for caller in here.callers:
        while ("error" in await (await caller.request("tools/call", NOW)).end()) is not is_error:
            await moment()


async def loses_its_bundle_and_gets_it_back(here: Scene, beside: list[str]) -> None:
    await here.home.remove("ConfigMap", "weather-ca")

    await here.sees(*beside)
    told = await asyncio.to_thread(status, here.gateway)
    where = f"MCPServerEntry/{here.home.namespace}/clock"
    assert [(one["object"], one["reason"]) for one in told["problems"]] == [
        (where, "CABundleNotFound")
    ]
    await here.comes_to(lambda: "CABundleNotFound" in str(entries(here).get("clock")))
    assert entries(here)["sdk"]["status"] == "ready"

    await here.home.put(ca("second"))

    await here.sees(*beside, *TIME)
    await here.works()
    await here.comes_to(lambda: entries(here)["clock"]["status"] == "ready")


async def leaves_its_group_and_is_deleted(here: Scene, server: Guarded, beside: list[str]) -> None:
    await here.home.put(clock(server, "other"))
    await here.sees(*beside)

    await here.home.put(clock(server))
    await here.sees(*beside, *TIME)
    await here.works()

    await here.home.remove("MCPServerEntry", "clock")
    await here.sees(*beside)
    for caller in here.callers:
        assert (await caller.refused("tools/call", NOW))["code"] == -32602
    await here.comes_to(lambda: "clock" not in entries(here))


def entries(here: Scene) -> Object:
    """Return the backends of the status that the gateway has written, by their names."""
    return {each["name"]: each for each in here.written().get("discoveredBackends", [])}


def health_of(here: Scene, name: str, state: str | None = "healthy") -> Object:
    (found,) = (each for each in status(here.gateway)["backends"] if each["name"] == name)
    assert state in (None, found["state"])
    return dict(found)


def what_else_is_answered(here: Scene) -> set[int]:
    """Try the gateway's own token at what it does not need; return how the API server answers."""
    core, entries_at = "/api/v1/namespaces/{}", path_of("MCPServerEntry", "{}")
    servers = path_of("VirtualMCPServer", "{}")
    patch = {"content_type": "application/merge-patch+json"}
    tried = (
        here.ask("GET", f"{core}/secrets"),
        here.ask("GET", f"{core}/configmaps"),
        here.ask("GET", f"{core}/secrets/other"),
        here.ask("GET", f"{core}/configmaps/kube-root-ca.crt"),
        here.ask("PATCH", f"{core}/secrets/weather-key", {"data": {}}, **patch),
        here.ask("POST", entries_at, entry_at("https://a.example.com/mcp")),
        here.ask("PATCH", f"{entries_at}/sdk", {"spec": {}}, **patch),
        here.ask("DELETE", f"{entries_at}/sdk"),
        here.ask("PATCH", f"{servers}/{GATEWAY}", {"spec": {}}, **patch),
        here.ask("PATCH", f"{servers}/other/status", {"status": {}}, **patch),
        here.ask("GET", "/api/v1/namespaces"),
    )
    return {*tried}


@dataclass
class Recorder:
    """Counts who comes to where an API server might be."""

    port: int = 0
    connections: int = 0


@asynccontextmanager
async def recording() -> AsyncIterator[Recorder]:
    made = Recorder()

    async def come(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.connections += 1
        writer.close()

    server = await asyncio.start_server(come, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


def surroundings(recorder: Recorder, folder: Path) -> dict[str, str]:
    """Return what tells a process in every way where the API server is."""
    url = f"http://127.0.0.1:{recorder.port}"
    login = kubeconfig(folder / "recorded", url, {"token": "t"})
    where = {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(recorder.port),
    }
    return {**where, "KUBECONFIG": str(login)}


def static_config(cluster: Cluster, folder: Path, config: Object) -> str:
    """Return the config file that the chart makes in static mode."""
    values = {"mode": "static", "config": config, "allowAnonymous": True}
    objects = Helm(cluster, folder).rendered(CHART, values=values)
    (found,) = (each for each in objects if each["kind"] == "ConfigMap")
    return str(found["data"]["config.yaml"])


async def test_in_static_mode_nobody_comes_to_the_api_server(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with recording() as recorder, in_thread(fixture_server()) as sdk:
        config = {"backends": [{"name": "sdk", "url": sdk}]}
        text = await asyncio.to_thread(static_config, cluster, tmp_path, config)
        env = surroundings(recorder, tmp_path)
        async with (
            in_thread(run_gateway(text, env=env)) as gateway,
            stateless(gateway.url) as caller,
        ):
            assert await caller.tools()

        assert recorder.connections == 0


async def test_the_recorder_would_have_seen_it(tmp_path: Path) -> None:
    async with recording() as recorder:
        argv = ("-m", "vmcp", "serve", "--kubernetes", "--name", "n", "--namespace", "n")
        ports = ("--port", "0", "--ops-port", "0")
        process = await asyncio.create_subprocess_exec(
            sys.executable, *argv, *ports, env=surroundings(recorder, tmp_path)
        )
        try:
            async with asyncio.timeout(SECONDS):
                while not recorder.connections:
                    await moment()
        finally:
            process.terminate()
            await process.wait()
