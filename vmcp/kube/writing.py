"""The one thing that we write of an object of others: its status, by server-side apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vmcp.kube.client import ApiServer
from vmcp.kube.resource import Resource

APPLY = "application/apply-patch+yaml"


async def apply_status(
    server: ApiServer,
    resource: Resource,
    *,
    version: str,
    namespace: str,
    name: str,
    status: Mapping[str, Any],
) -> Any:
    """Make the fields of a status ours and return the object; what others own of it stays.

    Raise Refused with 404 where there is no such object: applying a status makes none.
    """
    body = {
        "apiVersion": resource.api_version(version),
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": namespace},
        "status": status,
    }
    return await server.send(
        "PATCH",
        resource.path(version, namespace, name, "status"),
        body,
        # Fields that another hand has set by mistake become ours again.
        query={"fieldManager": "vmcp", "force": "true"},
        content_type=APPLY,
    )
