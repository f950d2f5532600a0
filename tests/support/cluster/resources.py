"""The objects of a namespace of the test cluster, changed as people and pipelines do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tests.support.cluster.admin import Object
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import path_of
from tests.support.homes import Home, Made, choice
from vmcp.clock import SystemClock
from vmcp.crd.kinds import GROUP, KIND_OF, VERSIONS
from vmcp.discovery.kubernetes import KubernetesSource, Place
from vmcp.discovery.reload import LiveConfig
from vmcp.kube.client import ApiServer
from vmcp.kube.login import ByKubeconfig
from vmcp.kube.pace import PACE, Pace

# What a gateway reads, and nothing else of its namespace.
READ = ("get", "list", "watch")


def rules(*names: str) -> list[Object]:
    """Return the rules by which a gateway reads custom resources, and Secrets and ConfigMaps of these names."""
    kinds = {
        "apiGroups": [GROUP],
        "resources": [each.plural for each in KIND_OF.values()],
        "verbs": READ,
    }
    named = {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": READ}
    return [kinds, {**named, "resourceNames": names}] if names else [kinds]


class Namespace:
    """A namespace of its own, in which an administrator changes objects."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.namespace = cluster.new_namespace()

    async def put(self, *objects: Object) -> None:
        """Apply objects, one after the other."""
        for each in objects:
            await asyncio.to_thread(self.cluster.admin.apply, self._path(each), each)

    async def remove(self, kind: str, name: str) -> None:
        """Delete an object."""
        found = self._path({"kind": kind})
        await asyncio.to_thread(self.cluster.admin.do, "DELETE", f"{found}/{name}")

    async def report(self, kind: str, name: str, **status: Any) -> None:
        """Say in an object's status what an operator would."""
        path = f"{self._path({'kind': kind})}/{name}/status"
        await asyncio.to_thread(self.cluster.admin.merge, path, {"status": status})

    def _path(self, one: Object) -> str:
        kind = one["kind"]
        if kind in KIND_OF:
            _, _, version = one.get("apiVersion", VERSIONS[-1]).rpartition("/")
            return path_of(kind, self.namespace, version)
        plural = {"Secret": "secrets", "ConfigMap": "configmaps"}[kind]
        return f"/api/v1/namespaces/{self.namespace}/{plural}"


class Resources(Namespace, Home):
    """A namespace of its own, and a ServiceAccount in it that may read `names`."""

    def __init__(self, cluster: Cluster, *names: str) -> None:
        super().__init__(cluster)
        self.account = cluster.new_account(self.namespace, "gateway", rules(*names))

    def allow(self, *names: str) -> None:
        """Let the account read Secrets and ConfigMaps of these names from now on, and no others."""
        self.cluster.allow(self.namespace, "gateway", rules(*names))

    def source(self, pace: Pace = PACE, **chosen: Any) -> Made:
        """Return what makes the source of the namespace, for `gateway_of`."""
        place = Place(self.namespace, choice(namespace=self.namespace, **chosen))

        def made(live: LiveConfig) -> Sequence[KubernetesSource]:
            server = ApiServer(self.login(), SystemClock())
            return [KubernetesSource(server, place, live.loaded, clock=SystemClock(), pace=pace)]

        return made

    def login(self) -> ByKubeconfig:
        """Return the login of the account."""
        token = self.cluster.pki.token(self.account, seconds=3600)
        path = self.cluster.folder / f"{self.namespace}.kubeconfig"
        self.cluster.write_kubeconfig(path, {"token": token}, self.namespace)
        return ByKubeconfig(str(path), None, SystemClock())
