"""What is kept of an object of the cluster: the fields that are read, and nothing else of it.

Values of Secrets are wrapped at once, so that nothing that holds such an object can print them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vmcp.model.secret import Secret

_METADATA = ("name", "namespace", "uid", "generation", "deletionTimestamp")

Content = Mapping[str, Any]
# What it makes of an object is compared with what it made before: where that is equal, nothing has changed.
Trim = Callable[[Content], Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """One object as it is kept: what it is, the version that was read, and the fields that we read."""

    name: str
    version: str = field(compare=False)
    content: Any = field(repr=False)


def keeping(*status: str) -> Trim:
    """Return a trim that keeps `spec` whole, and these fields of `status`."""

    def trim(found: Content) -> Content:
        told = _members(found, "status")
        return {
            **_identity(found),
            "spec": found.get("spec"),
            "status": {name: told[name] for name in status if name in told},
        }

    return trim


def secret(found: Content) -> Content:
    """Keep the values, as they come in base64, out of sight."""
    values = {name: Secret(str(value)) for name, value in _members(found, "data").items()}
    return {**_identity(found), "data": values}


def config_map(found: Content) -> Content:
    """Keep both kinds of values: text, and base64 under `binaryData`."""
    parts = {name: dict(_members(found, name)) for name in ("data", "binaryData")}
    return {**_identity(found), **parts}


def kept(found: Content, trim: Trim) -> Kept:
    """Trim an object."""
    metadata = _members(found, "metadata")
    version = str(metadata.get("resourceVersion", ""))
    return Kept(str(metadata.get("name", "")), version, trim(found))


def _identity(found: Content) -> dict[str, Any]:
    metadata = _members(found, "metadata")
    identity = {name: metadata[name] for name in _METADATA if name in metadata}
    api_version = found.get("apiVersion")
    return {"metadata": identity, **({"apiVersion": api_version} if api_version else {})}


def _members(found: Content, name: str) -> Content:
    members = found.get(name)
    return members if isinstance(members, Mapping) else {}
