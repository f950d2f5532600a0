"""The VirtualMCPServer that a report is about, as it is known."""

from __future__ import annotations

from dataclasses import dataclass

from vmcp.crd.kinds import STORED_VERSION, VERSIONS, VIRTUAL_MCP_SERVER
from vmcp.discovery.kubernetes import resource
from vmcp.kube.trimming import Kept

GATEWAYS = resource(VIRTUAL_MCP_SERVER.name)


@dataclass(frozen=True, slots=True)
class Subject:
    """One life of the object: made again it has another `uid`. `version` is the one by which it is served."""

    uid: str
    generation: int
    version: str


def subject(kept: Kept | None) -> Subject | None:
    """Return what is to be known of the object, None where it is not there."""
    if kept is None:
        return None
    metadata = kept.content["metadata"]
    version = str(kept.content.get("apiVersion", "")).rpartition("/")[2]
    return Subject(
        str(metadata.get("uid", "")),
        int(metadata.get("generation", 0)),
        version if version in VERSIONS else STORED_VERSION,
    )
