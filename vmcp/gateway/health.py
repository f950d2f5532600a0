"""The table of how all backends fare: checks and live calls write it, everybody reads it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from vmcp.clock import Clock
from vmcp.gateway.vitals import Vitals
from vmcp.latest import Latest
from vmcp.model.health import (
    DEFAULT_HEALTH,
    BackendHealth,
    HealthRules,
    PartialFailure,
    Stage,
    State,
)
from vmcp.model.keys import ObjectKey
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.failures import BackendsUnhealthy

log = logging.getLogger(__name__)


class Health:
    """Hold the vitals of each backend; `table` shows them, `unhealthy` names those past the threshold."""

    def __init__(self, clock: Clock, on_change: Callable[[], None]) -> None:
        """Call `on_change` when other backends than before are unhealthy."""
        self._clock = clock
        self._on_change = on_change
        self._vitals: dict[ObjectKey, Vitals] = {}
        # A dict itself: what stands for one is copied by hashing every key.
        self._shown: dict[ObjectKey, BackendHealth] = {}
        self.rules: Latest[HealthRules] = Latest(DEFAULT_HEALTH)
        self.table: Latest[Mapping[ObjectKey, BackendHealth]] = Latest(MappingProxyType({}))
        self.unhealthy: Latest[frozenset[ObjectKey]] = Latest(frozenset())

    async def run(self, snapshots: Latest[Snapshot]) -> None:
        """Follow the rules of the snapshots until cancelled."""
        async for snapshot in snapshots.changes():
            before = self.rules.value
            if self.rules.set(snapshot.health):
                self._judge(before)

    def _judge(self, before: HealthRules) -> None:
        now = self.rules.value.partial_failure
        if now is PartialFailure.FAIL and before.partial_failure is not now:
            log.warning("lists fail while any backend is unhealthy")
        for vitals in self._vitals.values():
            vitals.judge()

    def of(self, key: ObjectKey) -> Vitals:
        """Return the vitals of a backend, which is connecting if nothing was known of it."""
        if (known := self._vitals.get(key)) is None:
            known = self._vitals[key] = Vitals(key, self._clock, self.rules, self._publish)
        return known

    def failed_checks(self, key: ObjectKey) -> Mapping[Stage, int]:
        """Return how often checks of a backend failed, by what was being done."""
        known = self._vitals.get(key)
        return {} if known is None else known.failed_checks

    def renew(self, key: ObjectKey) -> None:
        """Begin anew with a backend that is another one now."""
        if (known := self._vitals.pop(key, None)) is not None:
            known.detach()
        self.of(key)

    def forget(self, key: ObjectKey) -> None:
        """Drop what is known of a backend that is no more; what its vitals still hear is published no more."""
        if (known := self._vitals.pop(key, None)) is not None:
            known.detach()
            self._show({each: seen for each, seen in self._shown.items() if each != key})
            self._mark(self.unhealthy.value - {key})

    def require(self, backends: Iterable[ObjectKey]) -> None:
        """Raise BackendsUnhealthy where lists are to fail while a backend of theirs is past the threshold."""
        if failing := self.withholding(backends):
            raise BackendsUnhealthy(failing)

    def withholding(self, backends: Iterable[ObjectKey]) -> list[str]:
        """Return which of the backends make lists fail, by name."""
        if not self.unhealthy.value or self.rules.value.partial_failure is not PartialFailure.FAIL:
            return []
        return sorted(key.name for key in self.unhealthy.value.intersection(backends))

    def _publish(self, key: ObjectKey, seen: BackendHealth) -> None:
        if self._shown.get(key) != seen:
            self._show({**self._shown, key: seen})
            others = self.unhealthy.value - {key}
            self._mark(others | {key} if seen.state is State.UNHEALTHY else others)

    def _show(self, shown: dict[ObjectKey, BackendHealth]) -> None:
        self._shown = shown
        self.table.renew(MappingProxyType(shown))

    def _mark(self, unhealthy: frozenset[ObjectKey]) -> None:
        if self.unhealthy.set(unhealthy):
            self._on_change()
