"""Which fields of a status the API server has: it applies none of a status in which one is unknown to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vmcp.kube.resource import Resource

_KINDS = "x-kubernetes-group-version-kind"
_ENTRIES = "discoveredBackends"


@dataclass(frozen=True, slots=True)
class Declared:
    """The fields of the status that there are, and those of an entry."""

    status: frozenset[str]
    entry: frozenset[str]

    def unknown(self, fields: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of fields of a status that are not declared."""
        of_entries = (key for each in fields[_ENTRIES] for key in each)
        return (frozenset(fields) - self.status) | (frozenset(of_entries) - self.entry)

    def trimmed(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a status without fields that are not declared."""
        entries = [
            {key: value for key, value in each.items() if key in self.entry}
            for each in fields[_ENTRIES]
        ]
        whole = {**fields, _ENTRIES: entries}
        return {key: value for key, value in whole.items() if key in self.status}


def place(resource: Resource, version: str) -> str:
    """Return where the API server describes a version of a group; whoever has logged in may read it."""
    return f"/openapi/v3/apis/{resource.group}/{version}"


def declared(document: object, resource: Resource, version: str) -> Declared | None:
    """Return what such a description says of a status; None where it says nothing of it."""
    wanted = {"group": resource.group, "version": version, "kind": resource.kind}
    for schema in _members(document, "components", "schemas").values():
        if isinstance(schema, Mapping) and wanted in (schema.get(_KINDS) or ()):
            status = _members(schema, "properties", "status", "properties")
            entry = _members(status, _ENTRIES, "items", "properties")
            return Declared(frozenset(status), frozenset(entry)) if status else None
    return None


def _members(value: object, *names: str) -> Mapping[str, Any]:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}
