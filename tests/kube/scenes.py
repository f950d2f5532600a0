"""The same handles on the fake and on the real API server, so that the same tests run on both."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.cluster.cluster import Cluster
from tests.support.kube_api import FakeApi, kubeconfig
from tests.support.waiting import moment
from vmcp.clock import SystemClock
from vmcp.kube.client import ApiServer
from vmcp.kube.login import ByKubeconfig
from vmcp.kube.pace import PACE, Pace
from vmcp.kube.resource import CONFIG_MAPS, LEASES, SECRETS, Resource
from vmcp.kube.trimming import Trim, config_map, secret
from vmcp.kube.watches import Watches

Object = dict[str, Any]
# As in production, but for those waits that a test would only sit through.
SOON = replace(
    PACE, first_seconds=0.02, forbidden_seconds=0.2, not_installed_seconds=0.2, poll_seconds=0.5
)
ALLOWED = (SECRETS, CONFIG_MAPS, LEASES)


def config(name: str, **data: str) -> Object:
    """Return a ConfigMap."""
    return {"metadata": {"name": name}, "data": data}


class Scene(ABC):
    """A server, a namespace of it, and an account there that may read and write three kinds."""

    namespace: str
    login: ByKubeconfig

    @abstractmethod
    async def put(self, resource: Resource, found: Object) -> None: ...

    @abstractmethod
    async def delete(self, resource: Resource, name: str) -> None: ...

    @abstractmethod
    async def forget(self) -> None:
        """Forget the history of ConfigMaps."""

    @abstractmethod
    async def allow(self, *resources: Resource) -> None:
        """Let the account read no other kinds from now on."""


class FakeScene(Scene):
    def __init__(self, api: FakeApi, folder: Path) -> None:
        self.api = api
        self.namespace = "apps"
        path = kubeconfig(folder / "fake.kubeconfig", api.url, {"token": "good"})
        self.login = ByKubeconfig(str(path), None, SystemClock())
        for each in ALLOWED:
            api.install(each)

    async def put(self, resource: Resource, found: Object) -> None:
        await self.api.put(resource, self.namespace, found)

    async def delete(self, resource: Resource, name: str) -> None:
        await self.api.delete(resource, self.namespace, name)

    async def forget(self) -> None:
        await self.api.forget()

    async def allow(self, *resources: Resource) -> None:
        self.api.denied = {each.plural for each in ALLOWED if each not in resources}


class RealScene(Scene):
    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.namespace = cluster.new_namespace()
        rules = [_rule(each) for each in ALLOWED]
        self.account = cluster.new_account(self.namespace, "gateway", rules)
        self._token = cluster.pki.token(self.account, seconds=3600)
        path = cluster.write_kubeconfig(folder / "real.kubeconfig", {"token": self._token})
        self.login = ByKubeconfig(str(path), None, SystemClock())

    async def put(self, resource: Resource, found: Object) -> None:
        admin, path = self.cluster.admin, self.path(resource)
        kind = {"apiVersion": resource.api_version(resource.versions[0]), "kind": resource.kind}
        await asyncio.to_thread(admin.apply, path, {**kind, **found})

    async def delete(self, resource: Resource, name: str) -> None:
        path = f"{self.path(resource)}/{name}"
        await asyncio.to_thread(self.cluster.admin.do, "DELETE", path)

    async def forget(self) -> None:
        await asyncio.to_thread(self.cluster.compact)

    async def allow(self, *resources: Resource) -> None:
        rules = [_rule(each) for each in resources]
        await asyncio.to_thread(self.cluster.allow, self.namespace, "gateway", rules)
        for each in ALLOWED:
            await self.comes_to_see(self.path(each), is_allowed=each in resources)

    async def comes_to_see(self, path: str, *, is_allowed: bool) -> None:
        """Wait until a Role is in force, which the server hears of after a moment."""
        status = 200 if is_allowed else 403
        async with asyncio.timeout(20):
            while await asyncio.to_thread(self._status, path) != status:
                await moment()

    def _status(self, path: str) -> int:
        return self.cluster.admin.ask("GET", path, token=self._token).status

    def path(self, resource: Resource) -> str:
        return resource.path(resource.versions[0], self.namespace)


def _rule(resource: Resource) -> Object:
    verbs = ["get", "list", "watch", "create", "update", "patch"]
    return {"apiGroups": [resource.group], "resources": [resource.plural], "verbs": verbs}


@asynccontextmanager
async def asking(login: ByKubeconfig) -> AsyncIterator[ApiServer]:
    """Give a client for the block."""
    server = ApiServer(login, SystemClock())
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def watching(
    scene: Scene,
    kinds: Mapping[Resource, Trim],
    by_name: Mapping[Resource, Trim] | None = None,
    pace: Pace = SOON,
) -> AsyncIterator[Watches]:
    """Watch kinds for the block."""
    async with asking(scene.login) as server:
        watches = Watches(
            server,
            scene.namespace,
            kinds=kinds,
            by_name={SECRETS: secret, CONFIG_MAPS: config_map} if by_name is None else by_name,
            clock=SystemClock(),
            pace=pace,
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(watches.run())
            yield watches
            task.cancel()
