"""The CustomResourceDefinition of each kind, as plain values whose keys are sorted by who writes them."""

from __future__ import annotations

from typing import Any

from vmcp.crd.kinds import CATEGORY, DEPRECATED_VERSION, GROUP, KINDS, STORED_VERSION, Column, Kind
from vmcp.crd.schema import structural

_WARNING = f"{GROUP}/{DEPRECATED_VERSION} is deprecated; use {GROUP}/{STORED_VERSION}"

# What every object has; the API server checks it by itself.
_COMMON = {
    "apiVersion": {"type": "string", "description": "The group and the version of the object."},
    "kind": {"type": "string", "description": "The kind of the object."},
    "metadata": {"type": "object"},
}


def definitions() -> tuple[dict[str, Any], ...]:
    """Return the definitions of all kinds, by name."""
    return tuple(definition(kind) for kind in sorted(KINDS, key=lambda kind: kind.plural))


def definition(kind: Kind) -> dict[str, Any]:
    """Return the definition of a kind; both versions have one schema, so that nothing is converted."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "categories": [CATEGORY],
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "shortNames": [*kind.short_names],
                "singular": kind.name.lower(),
            },
            "scope": "Namespaced",
            "versions": [_deprecated(kind), _version(kind, STORED_VERSION)],
        },
    }


def _deprecated(kind: Kind) -> dict[str, Any]:
    version = _version(kind, DEPRECATED_VERSION)
    return {**version, "storage": False, "deprecated": True, "deprecationWarning": _WARNING}


def _version(kind: Kind, name: str) -> dict[str, Any]:
    properties = {**_COMMON, "spec": structural(kind.spec), "status": structural(kind.status)}
    schema = {"type": "object", "description": kind.description, "properties": properties}
    return {
        "name": name,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }


def _column(column: Column) -> dict[str, Any]:
    return {"name": column.name, "jsonPath": column.path, "type": column.type}
