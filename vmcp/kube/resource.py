"""How the API server names kinds of objects, and the objects of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Resource:
    """A kind by its group and versions, the preferred one first: other groups have kinds of the same name."""

    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str

    def path(self, version: str, namespace: str, *below: str) -> str:
        """Return where its objects of a namespace are served, or one of them, or a part of that one."""
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        return "/".join((root, "namespaces", namespace, self.plural, *below))

    def api_version(self, version: str) -> str:
        """Return what such an object calls its `apiVersion`."""
        return f"{self.group}/{version}" if self.group else version

    def __str__(self) -> str:
        """Write it as people name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """One object of the namespace that is watched; without a name, what is known of its kind as a whole."""

    resource: Resource
    name: str


SECRETS = Resource("", ("v1",), "Secret", "secrets")
CONFIG_MAPS = Resource("", ("v1",), "ConfigMap", "configmaps")
LEASES = Resource("coordination.k8s.io", ("v1",), "Lease", "leases")
