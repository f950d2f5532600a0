"""A namespace of the fake API server as a home of objects: as quick as a folder, and it can be made to fail."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.support.homes import Home, Made, choice
from tests.support.kube_api import FakeApi, Object, fake_api, kubeconfig
from vmcp.clock import SystemClock
from vmcp.crd.kinds import KIND_OF
from vmcp.discovery.kubernetes import KubernetesSource, Place, resource
from vmcp.discovery.reload import LiveConfig
from vmcp.kube.client import ApiServer
from vmcp.kube.login import ByKubeconfig
from vmcp.kube.pace import PACE, Pace
from vmcp.kube.resource import CONFIG_MAPS, LEASES, SECRETS, Resource

_BY_NAME = {"Secret": SECRETS, "ConfigMap": CONFIG_MAPS}


class FakeHome(Home):
    """The namespace `apps`, in which all kinds are installed."""

    namespace = "apps"

    def __init__(self, api: FakeApi, login: Path) -> None:
        self.api = api
        self.kubeconfig = login

    async def put(self, *objects: Object) -> None:
        for each in objects:
            await self.api.put(_resource(each["kind"]), self.namespace, _encoded(each))

    async def remove(self, kind: str, name: str) -> None:
        await self.api.delete(_resource(kind), self.namespace, name)

    async def report(self, kind: str, name: str, **status: Any) -> None:
        found = self.api.found(_resource(kind), self.namespace, name)
        await self.put({**found, "status": {**found.get("status", {}), **status}})

    def source(self, pace: Pace = PACE, **chosen: Any) -> Made:
        """Return what makes the source of the namespace, for `gateway_of`."""
        place = Place(self.namespace, choice(namespace=self.namespace, **chosen))

        def made(live: LiveConfig) -> Sequence[KubernetesSource]:
            clock = SystemClock()
            login = ByKubeconfig(str(self.kubeconfig), None, clock)
            server = ApiServer(login, clock)
            return [KubernetesSource(server, place, live.loaded, clock=clock, pace=pace)]

        return made


@asynccontextmanager
async def fake_home(folder: Path) -> AsyncIterator[FakeHome]:
    """Serve a fake for the block, with a login in a folder."""
    async with fake_api() as api:
        for each in (*map(_resource, KIND_OF), SECRETS, CONFIG_MAPS, LEASES):
            api.install(each)
        yield FakeHome(api, kubeconfig(folder / "kubeconfig", api.url, {"token": "good"}))


def _resource(kind: str) -> Resource:
    return _BY_NAME.get(kind) or resource(kind)


def _encoded(one: Object) -> Object:
    """Return an object as the API server keeps it: without `stringData`."""
    made = deepcopy(one)
    given = made.pop("stringData", None)
    if given is not None:
        made["data"] = {k: b64encode(v.encode()).decode() for k, v in given.items()}
    return made
