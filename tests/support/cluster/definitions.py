"""The custom resources on the test cluster."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from tests.support.cluster.admin import Object
from tests.support.cluster.cluster import Cluster
from vmcp.crd.definitions import definitions
from vmcp.crd.kinds import GROUP, KIND_OF, STORED_VERSION

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SECONDS = 30.0


class NotServed(Exception):
    """A kind that was told to the API server is not there."""


def install(cluster: Cluster) -> None:
    """Bring all definitions to a cluster, or make them what they should be; return once they are served."""
    for definition in definitions():
        cluster.admin.apply(PATH, definition)
    wait_served(cluster, definitions())


def wait_served(cluster: Cluster, wanted: Iterable[Object]) -> None:
    """Return once the kinds of definitions are served; raise NotServed where they are not."""
    ends = time.monotonic() + _SECONDS
    for definition in wanted:
        path = _path_of_all(definition)
        # What is established may still be made ready (429).
        while cluster.admin.ask("GET", path).status != 200:
            if time.monotonic() > ends:
                raise NotServed(path)
            cluster.api.rest(0.05)


def _path_of_all(definition: Object) -> str:
    spec = definition["spec"]
    return f"/apis/{spec['group']}/{spec['versions'][-1]['name']}/{spec['names']['plural']}"


def conditions(one: Object) -> dict[str, str]:
    """Return the conditions of an object by their types."""
    found: list[Any] = one.get("status", {}).get("conditions", [])
    return {each["type"]: each["status"] for each in found}


def path_of(kind: str, namespace: str, version: str = STORED_VERSION) -> str:
    """Return the path of the objects of a kind."""
    return f"/apis/{GROUP}/{version}/namespaces/{namespace}/{KIND_OF[kind].plural}"
