"""Elect one of several gateways by a Lease.

Who cannot renew stops leading before another may begin: that of kubernetes_asyncio goes on while the API server
cannot be reached.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vmcp.clock import Clock
from vmcp.kube.client import JSON, ApiServer
from vmcp.kube.errors import CannotLogIn, Refused, Unreachable
from vmcp.kube.pace import jittered
from vmcp.kube.resource import LEASES
from vmcp.latest import Latest

log = logging.getLogger(__name__)

_VERSION = "v1"
_NOT_FOUND, _CONFLICT = 404, 409
_FAULTS = (Refused, Unreachable, CannotLogIn, TimeoutError)


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a Lease holds, when its holder gives up unrenewed, and how often it is renewed or tried.

    To give it back may take `give_back_seconds`; otherwise it runs out.
    """

    lease_seconds: float
    renew_within_seconds: float
    retry_seconds: float
    give_back_seconds: float = 2.0


TERMS = Terms(lease_seconds=15.0, renew_within_seconds=10.0, retry_seconds=2.0)


class Elector:
    """Try to hold a Lease of a namespace; `is_leader` says whether we do."""

    def __init__(
        self,
        server: ApiServer,
        namespace: str,
        name: str,
        *,
        identity: str,
        clock: Clock,
        terms: Terms,
    ) -> None:
        self._server = server
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._clock = clock
        self._terms = terms
        # The Lease as it was last seen to change, and when by our own clock: those of others may be wrong.
        self._seen: tuple[object, ...] = ()
        self._seen_at = 0.0
        self._renewed_at = 0.0
        self.is_leader = Latest(False)  # noqa: FBT003
        self.error = Latest("")

    async def run(self) -> None:
        """Try, hold and renew until cancelled; then give it back."""
        try:
            while True:
                await self._turn()
                await asyncio.sleep(jittered(self._terms.retry_seconds))
        finally:
            if self.is_leader.value:
                await self._give_back()

    async def _turn(self) -> None:
        begun = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._patience()):
                is_ours = await self._try()
        except _FAULTS as error:
            self._doubt(error)
        else:
            self.error.set("")
            self._renewed_at = begun if is_ours else self._renewed_at
            self._lead(is_ours=is_ours)

    def _patience(self) -> float:
        if not self.is_leader.value:
            return self._terms.renew_within_seconds
        left = self._renewed_at + self._terms.renew_within_seconds - self._clock.monotonic()
        return max(left, 0.0)

    def _doubt(self, error: Exception) -> None:
        if isinstance(error, Refused) and error.status == _CONFLICT:
            # Another one was faster.
            self._lead(is_ours=False)
            return
        words = str(error) or "The API server gives no answer in time."
        # How it fails may differ each time.
        is_new = not self.error.value
        self.error.set(words)
        if is_new:
            log.warning("the lease cannot be had", extra={"lease": self._name, "error": words})
        if self.is_leader.value and self._patience() <= self._terms.retry_seconds:
            self._lead(is_ours=False)

    def _lead(self, *, is_ours: bool) -> None:
        if self.is_leader.set(is_ours):
            extra = {"lease": self._name, "is_leader": is_ours}
            log.info("leadership changed", extra=extra)

    async def _try(self) -> bool:
        lease = await self._lease()
        spec = lease.get("spec") or {}
        self._look(spec)
        if not self._is_free(spec):
            return False
        await self._put(lease, self._taken(spec))
        return True

    async def _lease(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await self._server.get(self._path(), {})
        except Refused as error:
            if error.status != _NOT_FOUND:
                raise
            return await self._made()
        return found

    async def _made(self) -> dict[str, Any]:
        # The chart renders the Lease, so a Role need not allow this.
        body = {
            "apiVersion": LEASES.api_version(_VERSION),
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
        }
        path = LEASES.path(_VERSION, self._namespace)
        made: dict[str, Any] = await self._server.send(
            "POST", path, body, query={}, content_type=JSON
        )
        return made

    def _look(self, spec: Mapping[str, Any]) -> None:
        seen = (spec.get("holderIdentity"), spec.get("renewTime"), spec.get("leaseTransitions"))
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock.monotonic()

    def _is_free(self, spec: Mapping[str, Any]) -> bool:
        holder = spec.get("holderIdentity")
        if not holder or holder == self._identity:
            return True
        holds = spec.get("leaseDurationSeconds") or self._terms.lease_seconds
        return self._clock.monotonic() >= self._seen_at + holds

    def _taken(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        now = _written(self._clock.now())
        is_ours = spec.get("holderIdentity") == self._identity
        transitions = spec.get("leaseTransitions") or 0
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": round(self._terms.lease_seconds),
            "acquireTime": spec.get("acquireTime") if is_ours else now,
            "renewTime": now,
            "leaseTransitions": transitions if is_ours else transitions + 1,
        }

    async def _put(self, lease: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
        # It carries the resourceVersion that was read: of two who take it at once, one gets 409.
        body = {**lease, "spec": dict(spec)}
        await self._server.send("PUT", self._path(), body, query={}, content_type=JSON)

    async def _give_back(self) -> None:
        self._lead(is_ours=False)
        with suppress(*_FAULTS):
            async with asyncio.timeout(self._terms.give_back_seconds):
                lease = await self._lease()
                spec = lease.get("spec") or {}
                if spec.get("holderIdentity") == self._identity:
                    freed = {"holderIdentity": "", "leaseDurationSeconds": 1}
                    await self._put(lease, {**spec, **freed})

    def _path(self) -> str:
        return LEASES.path(_VERSION, self._namespace, self._name)


def _written(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
