"""What the backends' clients found out: the lists of each backend, and how it fares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from vmcp.clock import Clock
from vmcp.gateway.health import Health
from vmcp.gateway.vitals import Vitals
from vmcp.latest import Latest
from vmcp.model.health import Stage
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.protocol.failures import BackendFailed

Updated = Callable[[ObjectKey, str, bytes], None]


class Inventories:
    """Take the findings of all backends' clients (the port `Findings`).

    `known` holds what each backend listed last, `offered` what clients are shown of it: nothing while it is
    unhealthy.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        # A dict itself: what stands for one is copied by hashing every key.
        self._listed: dict[ObjectKey, Inventory] = {}
        self._updated: Updated | None = None
        self.known: Latest[Mapping[ObjectKey, Inventory]] = Latest(MappingProxyType({}))
        self.offered: Latest[Mapping[ObjectKey, Inventory]] = Latest(self.known.value)
        self.health = Health(clock, self._offer)

    def on_update(self, updated: Updated) -> None:
        """Say who hears of updated resources."""
        self._updated = updated

    def listed(self, inventory: Inventory) -> None:
        """Take the lists of a backend."""
        key, peer = inventory.backend, inventory.peer
        self._listed = {**self._listed, key: inventory}
        if self.known.set(MappingProxyType(self._listed)):
            self._offer()
        counts = {"tools": len(inventory.tools), "resources": len(inventory.resources)}
        fields = {"era": peer.era.value, "version": peer.version, **counts}
        self.vitals(key).checked(fields)

    def checked(self, backend: ObjectKey) -> None:
        """Take note of a check that was answered."""
        self.vitals(backend).checked()

    def failed(self, backend: ObjectKey, stage: Stage, failure: BackendFailed) -> None:
        """Take note of a failure; the lists stay."""
        self.vitals(backend).check_failed(stage, failure)

    def vitals(self, backend: ObjectKey) -> Vitals:
        """Return how a backend fares."""
        return self.health.of(backend)

    def resource_updated(self, backend: ObjectKey, uri: str, params: bytes) -> None:
        """Pass an update of a resource on."""
        if self._updated is not None:
            self._updated(backend, uri, params)

    def forget(self, backend: ObjectKey) -> None:
        """Drop what is known of a backend that is no more."""
        self._listed = {key: each for key, each in self._listed.items() if key != backend}
        self.known.set(MappingProxyType(self._listed))
        self.health.forget(backend)
        self._offer()

    def _offer(self) -> None:
        """Show what is known of all but the unhealthy, of whom stays only what they said of themselves."""
        known, unhealthy = self.known.value, self.health.unhealthy.value
        if unhealthy:
            known = MappingProxyType(
                {key: _empty(each) if key in unhealthy else each for key, each in known.items()}
            )
        self.offered.set(known)


def _empty(inventory: Inventory) -> Inventory:
    return replace(inventory, tools=(), resources=(), templates=(), prompts=(), problems=())
