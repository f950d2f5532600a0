"""What the backends' clients found out: the lists of each backend, and how it fares."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from vmcp.clock import Clock
from vmcp.latest import Latest
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fare:
    """How a backend fares: its last success and failure as far as there were any, and since when it is so."""

    is_ready: bool
    since: datetime
    reason: str | None = None
    message: str | None = None


Updated = Callable[[ObjectKey, str, bytes], None]


class Inventories:
    """Take the findings of all backends' clients (the port `Findings`)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._updated: Updated | None = None
        self._fares: dict[ObjectKey, Fare] = {}
        self.known: Latest[Mapping[ObjectKey, Inventory]] = Latest(MappingProxyType({}))
        self.fares: Latest[Mapping[ObjectKey, Fare]] = Latest(MappingProxyType({}))

    def on_update(self, updated: Updated) -> None:
        """Say who hears of updated resources."""
        self._updated = updated

    def listed(self, inventory: Inventory) -> None:
        """Take the lists of a backend."""
        key = inventory.backend
        self.known.set(MappingProxyType({**self.known.value, key: inventory}))
        before = self._fares.get(key)
        if before is None or not before.is_ready:
            self._set(key, Fare(is_ready=True, since=self._clock.now()))
            peer = inventory.peer
            counts = {"tools": len(inventory.tools), "resources": len(inventory.resources)}
            fields = {"backend": key.name, "era": peer.era.value, "version": peer.version, **counts}
            log.info("backend is ready", extra=fields)

    def failed(self, backend: ObjectKey, reason: str, message: str) -> None:
        """Take note of a failure; the lists stay."""
        before = self._fares.get(backend)
        if before is None or before.is_ready or before.reason != reason:
            self._set(
                backend,
                Fare(is_ready=False, since=self._clock.now(), reason=reason, message=message),
            )
            log.warning(
                "backend is lost",
                extra={"backend": backend.name, "reason": reason, "detail": message},
            )

    def resource_updated(self, backend: ObjectKey, uri: str, params: bytes) -> None:
        """Pass an update of a resource on."""
        if self._updated is not None:
            self._updated(backend, uri, params)

    def forget(self, backend: ObjectKey) -> None:
        """Drop what is known of a backend that is no more."""
        self.known.set(
            MappingProxyType({k: v for k, v in self.known.value.items() if k != backend})
        )
        self._fares.pop(backend, None)
        self.fares.set(MappingProxyType(dict(self._fares)))

    def _set(self, key: ObjectKey, fare: Fare) -> None:
        self._fares[key] = fare
        self.fares.set(MappingProxyType(dict(self._fares)))
