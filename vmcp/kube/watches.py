"""All that is watched in one namespace: kinds as a whole, and Secrets and ConfigMaps by name, in one store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial

from vmcp.clock import Clock
from vmcp.kube.bell import Bell
from vmcp.kube.client import ApiServer
from vmcp.kube.informer import Informer
from vmcp.kube.named import Named
from vmcp.kube.pace import Pace
from vmcp.kube.reading import Scope
from vmcp.kube.resource import Key, Resource
from vmcp.kube.store import Store
from vmcp.kube.sync import Sync
from vmcp.kube.trimming import Trim


class Watches:
    """Follow them until cancelled; read `store` when the `bell` was rung."""

    def __init__(
        self,
        server: ApiServer,
        namespace: str,
        *,
        kinds: Mapping[Resource, Trim],
        by_name: Mapping[Resource, Trim],
        clock: Clock,
        pace: Pace,
    ) -> None:
        self.bell = bell = Bell()
        self.store = store = Store(bell)
        self._kinds = {
            resource: Informer(
                server,
                Scope(resource, namespace, None, None, trim),
                store,
                clock=clock,
                pace=pace,
                told=partial(bell.ring, [Key(resource, "")]),
            )
            for resource, trim in kinds.items()
        }
        self._named = {
            resource: Named(
                server,
                Scope(resource, namespace, None, None, trim),
                store,
                bell=bell,
                clock=clock,
                pace=pace,
            )
            for resource, trim in by_name.items()
        }

    def refer(self, resource: Resource, names: Iterable[str]) -> None:
        """Say which objects of a kind that is followed by name are referred to from now on."""
        self._named[resource].refer(frozenset(names))

    def sync(self, resource: Resource) -> Sync:
        """Return how well a kind is known that is followed as a whole."""
        return self._kinds[resource].sync

    def syncs(self) -> Mapping[Resource, Sync]:
        """Return the same for all of them."""
        return {resource: informer.sync for resource, informer in self._kinds.items()}

    def sync_by_name(self, resource: Resource, name: str) -> Sync:
        """Return how well an object that is referred to is known."""
        return self._named[resource].sync(name)

    def syncs_by_name(self, resource: Resource) -> Mapping[str, Sync]:
        """Return the same for all that are referred to."""
        return self._named[resource].syncs()

    @property
    def is_settled(self) -> bool:
        """Whether all kinds are known as far as they can be, those that are not installed among them."""
        return all(sync.is_settled for sync in self.syncs().values())

    async def run(self) -> None:
        """Keep the store true."""
        async with asyncio.TaskGroup() as group:
            for informer in self._kinds.values():
                group.create_task(informer.run())
            for named in self._named.values():
                group.create_task(named.run())
