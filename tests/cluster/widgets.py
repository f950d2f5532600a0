"""Custom resources for tests: a definition that is installed, changed and removed at will."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any
from uuid import uuid4

from tests.support.cluster.cluster import Cluster
from tests.support.waiting import until
from vmcp.kube.resource import Resource

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SECONDS = 30.0


class Widgets:
    """One kind with a spec of one number."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._limits = count(100)
        group = f"g{uuid4().hex[:8]}.test"
        self.resource = Resource(group, ("v1beta1", "v1alpha1"), "Widget", "widgets")

    async def install(self, *versions: str) -> None:
        """Serve the kind, the first of these versions being the one that is stored."""
        served = [self._version(each, stored=each == versions[0]) for each in versions]
        await asyncio.to_thread(self._apply, served)
        path = f"/apis/{self.resource.group}/{versions[0]}/namespaces/default/widgets"
        await until(lambda: self._cluster.admin.ask("GET", path).status == 200, _SECONDS)

    async def remove(self) -> None:
        """Remove the kind and all objects of it."""
        path = f"{_DEFINITIONS}/widgets.{self.resource.group}"
        await asyncio.to_thread(self._cluster.admin.do, "DELETE", path)

    async def put(self, namespace: str, name: str, size: int, version: str = "v1beta1") -> None:
        """Make an object, or change it."""
        resource = self.resource
        body = {
            "apiVersion": resource.api_version(version),
            "kind": resource.kind,
            "metadata": {"name": name},
            "spec": {"size": size},
        }
        path = resource.path(version, namespace)
        await asyncio.to_thread(self._cluster.admin.apply, path, body)

    def _apply(self, versions: list[dict[str, Any]]) -> None:
        names = {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets"}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"widgets.{self.resource.group}"},
            "spec": {
                "group": self.resource.group,
                "scope": "Namespaced",
                "names": {**names, "singular": "widget"},
                "versions": versions,
            },
        }
        self._cluster.admin.apply(_DEFINITIONS, definition)

    def _version(self, name: str, *, stored: bool) -> dict[str, Any]:
        # Another schema makes the server forget the history of the kind.
        size = {"type": "integer", "maximum": 10**6 + next(self._limits)}
        spec = {"type": "object", "properties": {"size": size}}
        status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        schema = {"type": "object", "properties": {"spec": spec, "status": status}}
        return {
            "name": name,
            "served": True,
            "storage": stored,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        }
