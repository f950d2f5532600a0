"""What is known of the objects of one namespace; who watches writes it, everybody reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from vmcp.kube.bell import Bell
from vmcp.kube.resource import Key, Resource
from vmcp.kube.trimming import Kept


class Store:
    """Hold the objects as they are kept, and ring a bell where one of them holds something else than before."""

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._objects: dict[Resource, dict[str, Kept]] = {}

    def get(self, resource: Resource, name: str) -> Kept | None:
        """Return one object."""
        return self.all(resource).get(name)

    def all(self, resource: Resource) -> Mapping[str, Kept]:
        """Return all objects of a kind, by their names."""
        return MappingProxyType(self._objects.get(resource, {}))

    def put(self, resource: Resource, found: Kept) -> None:
        """Take an object as it is now."""
        objects = self._objects.setdefault(resource, {})
        before = objects.get(found.name)
        objects[found.name] = found
        if before is None or _differ(found, before):
            self._bell.ring([Key(resource, found.name)])

    def drop(self, resource: Resource, name: str) -> None:
        """Forget an object that is gone."""
        if self._objects.get(resource, {}).pop(name, None) is not None:
            self._bell.ring([Key(resource, name)])

    def replace(
        self, resource: Resource, found: Iterable[Kept], among: frozenset[str] | None
    ) -> None:
        """Take what a list told: of these names, or of all, no others are there."""
        told = {each.name: each for each in found}
        known = self._objects.get(resource, {})
        gone = [name for name in known if name not in told and (among is None or name in among)]
        for name in gone:
            self.drop(resource, name)
        for each in told.values():
            self.put(resource, each)


def _differ(found: Kept, before: Kept) -> bool:
    try:
        return found != before
    except RecursionError:
        # It is nested as deep as can be read at all.
        return found.version != before.version
