"""A status that we apply is ours, and all else of the object stays as others left it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.cluster.widgets import Widgets
from tests.kube.scenes import RealScene, asking
from vmcp.kube.errors import Refused
from vmcp.kube.writing import apply_status


async def test_a_status_is_written_and_nothing_else(scene: RealScene, widgets: Widgets) -> None:
    admin, kind = scene.cluster.admin, widgets.resource
    await widgets.install("v1beta1", "v1alpha1")
    await widgets.put(scene.namespace, "one", 1)
    path = kind.path("v1beta1", scene.namespace, "one")
    await asyncio.to_thread(admin.merge, f"{path}/status", {"status": {"phase": "Ready"}})
    before = await asyncio.to_thread(admin.do, "GET", path)

    await write(scene, widgets, "one", backendCount=2, old="x")
    await write(scene, widgets, "one", backendCount=3)
    after = await asyncio.to_thread(admin.do, "GET", path)
    await write(scene, widgets, "one", backendCount=3)
    again = await asyncio.to_thread(admin.do, "GET", path)

    assert after["status"] == {"phase": "Ready", "backendCount": 3}
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert again["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


async def test_a_status_makes_no_object(scene: RealScene, widgets: Widgets) -> None:
    await widgets.install("v1beta1")
    with pytest.raises(Refused) as refused:
        await write(scene, widgets, "absent", backendCount=1)

    assert refused.value.status == 404


async def write(scene: RealScene, widgets: Widgets, name: str, **status: Any) -> None:
    async with asking(replace(scene.login, files=str(scene.cluster.kubeconfig))) as server:
        await apply_status(
            server,
            widgets.resource,
            version="v1beta1",
            namespace=scene.namespace,
            name=name,
            status=status,
        )
