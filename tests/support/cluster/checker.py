"""Compares what a running gateway makes of a namespace with what a fresh look at it gives, from nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from tests.support.cluster.admin import Denied
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import path_of
from tests.support.gateways import Served
from vmcp.crd.convert import convert
from vmcp.crd.scope import Scope
from vmcp.crd.things import KINDS, thing
from vmcp.crd.world import CONFIG_MAP, SECRET, Thing, World
from vmcp.discovery.kubernetes import KubernetesSource
from vmcp.model.fingerprint import fingerprint
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Contribution

NOT_FOUND = 404
_PATIENT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Checker:
    """Looks at a namespace as an administrator, without a line of what watches it."""

    cluster: Cluster
    scope: Scope
    namespace: str
    source: KubernetesSource
    served: Served

    async def finds_nothing(self, seconds: float, told: Iterable[tuple[str, str]] = ()) -> float:
        """Return after how many seconds there was no difference; fail with what is different at the end.

        `told` are the kinds and reasons of problems that no object has.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        while left := await self._differences({*told}):
            assert loop.time() - began < seconds, f"after {seconds:g} s: {left}"
        return loop.time() - began

    async def _differences(self, told: set[tuple[str, str]]) -> list[str]:
        try:
            fresh = await asyncio.to_thread(self._fresh)
        except (Denied, OSError) as error:
            # A server that has just started does not know all kinds yet.
            return [f"the server does not tell: {error}"]
        return self._compared(fresh, told)

    def _fresh(self) -> Contribution:
        """List everything and convert it."""
        things = {each.key: each for each in self._things()}
        return convert(World(self.namespace, things), self.scope)

    def _things(self) -> Iterator[Thing]:
        core = f"/api/v1/namespaces/{self.namespace}"
        for kind in sorted(KINDS):
            yield from self._listed(kind, path_of(kind, self.namespace))
        yield from self._listed(SECRET, f"{core}/secrets")
        yield from self._listed(CONFIG_MAP, f"{core}/configmaps")

    def _listed(self, kind: str, path: str) -> Iterator[Thing]:
        told = self.cluster.admin.ask("GET", path, seconds=_PATIENT_SECONDS)
        if told.status not in (200, NOT_FOUND):
            raise Denied(told)
        for each in told.body.get("items", ()):
            metadata = each["metadata"]
            key = ObjectKey(kind, metadata["name"], self.namespace)
            yield thing(key, metadata["resourceVersion"], each)

    def _compared(self, fresh: Contribution, told: set[tuple[str, str]]) -> list[str]:
        """Name what the gateway has otherwise than it should."""
        running, status = self.source.contribution.value, self.served.status()
        own = [each for each in running.problems if (each.key.kind, each.reason) not in told]
        running = replace(running, problems=tuple(own))
        found = [
            f"{name}: {_apart(getattr(running, name), getattr(fresh, name))}"
            for name in (each.name for each in fields(Contribution))
            if getattr(running, name) != getattr(fresh, name)
        ]
        shown = {each["object"]: each["fingerprint"] for each in status["backends"]}
        if shown != {str(each.key): fingerprint(each) for each in fresh.backends}:
            found.append(f"backends in /status: {sorted(shown)}")
        problems = {(each["object"], each["reason"]) for each in status["problems"]}
        if not {*map(_shown, fresh.problems)} <= problems:
            found.append(f"problems in /status: {sorted(problems)}")
        return found


def _shown(problem: Problem) -> tuple[str, str]:
    return (str(problem.key), problem.reason)


def _apart(running: Any, fresh: Any) -> str:
    """Show what one has and the other has not."""
    if isinstance(running, tuple) and isinstance(fresh, tuple):
        only = [each for each in running if each not in fresh]
        return f"{only!r}, not {[each for each in fresh if each not in running]!r}"
    return f"{running!r}, not {fresh!r}"
