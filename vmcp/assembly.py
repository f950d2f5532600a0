"""The composition root: puts the parts of a gateway together and runs them, without its listeners."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from vmcp.catalog.lookup import Catalog
from vmcp.clock import SystemClock
from vmcp.discovery.reload import LiveConfig
from vmcp.discovery.source import Source
from vmcp.discovery.static import StaticSource
from vmcp.gateway.core import Gateway
from vmcp.gateway.dispatch import Dispatch
from vmcp.gateway.inventories import Inventories
from vmcp.gateway.parked import ParkedCalls
from vmcp.gateway.pool import Pool
from vmcp.gateway.readiness import Readiness
from vmcp.gateway.registry import Registry
from vmcp.gateway.rounds import first_round, next_round
from vmcp.gateway.seal import Seal
from vmcp.gateway.sessions import Sessions
from vmcp.gateway.tasks import Tasks
from vmcp.gateway.views import Views
from vmcp.gateway.watchers import Watchers
from vmcp.model.health import State
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot
from vmcp.net.client import HttpClient
from vmcp.net.proxies import proxies
from vmcp.telemetry.level import set_level
from vmcp.transport.outgoing.factory import make

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found when all backends were opened once."""

    snapshot: Snapshot
    catalog: Catalog
    inventories: Mapping[ObjectKey, Inventory]
    troubles: Mapping[ObjectKey, str]
    problems: tuple[Problem, ...]


class Companion(Protocol):
    """What runs beside a gateway, and what operators are told of it."""

    def told(self) -> Mapping[str, object]:
        """Return how it is, as JSON."""
        ...

    async def run(self) -> None:
        """Do what it is for, until cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class Beside:
    """What there is beside the config file: other sources, and what runs beside the gateway."""

    sources: Sequence[Source] = ()
    companions: Sequence[Callable[[Gateway], Companion]] = ()


ALONE = Beside()


@asynccontextmanager
async def running(
    live: LiveConfig, environment: Mapping[str, str], beside: Beside = ALONE
) -> AsyncIterator[Gateway]:
    """Run a gateway without its listeners for the block; backends and child processes end after it."""
    pseudonym = f"vmcp-{secrets.token_hex(8)}"
    clock, http = SystemClock(), HttpClient(pseudonym, proxies(environment))
    registry = Registry()
    inventories = Inventories(clock)
    pool = Pool(lambda backend: make(backend, http, inventories, environment), inventories)
    views = Views(registry.snapshot, inventories.offered)
    watchers = Watchers(views)
    inventories.on_update(watchers.updated)
    pool.on_replace(watchers.replaced)
    loaded = live.loaded.value
    origin = loaded.config.server.seal_key_origin
    seal = Seal(clock, loaded.secret(origin) if origin is not None else None)
    parked = ParkedCalls()
    sources: tuple[Source, ...] = (StaticSource(live.loaded), *beside.sources)
    gateway = Gateway(
        pseudonym=pseudonym,
        loading=live.loading,
        registry=registry,
        inventories=inventories,
        pool=pool,
        views=views,
        watchers=watchers,
        sessions=Sessions(clock, pool, watchers),
        parked=parked,
        dispatch=Dispatch(views, pool, seal, parked, Tasks(clock)),
        readiness=Readiness(registry.snapshot, inventories.health.table),
        sources=sources,
    )
    companions = [make(gateway) for make in beside.companions]
    gateway.reports.extend(companions)
    try:
        async with asyncio.TaskGroup() as tasks:
            works = [
                tasks.create_task(work)
                for work in (
                    *(source.run() for source in sources),
                    *(registry.follow(source.contribution) for source in sources),
                    inventories.health.run(registry.snapshot),
                    pool.run(registry.snapshot),
                    views.run(),
                    watchers.run(pool.client_of),
                    gateway.sessions.run(),
                    parked.run(),
                    gateway.readiness.run(views.catalog),
                    gateway.lag.run(),
                    _follow_logs(live, gateway),
                    *(each.run() for each in companions),
                )
            ]
            try:
                yield gateway
            finally:
                await gateway.sessions.end_all()
                for work in works:
                    work.cancel()
    finally:
        await http.close()


async def _follow_logs(live: LiveConfig, gateway: Gateway) -> None:
    """Log what the config says now; its level only where it says another one than before."""
    known = live.loaded.value.config.operational.log_level
    async for loaded in live.loaded.changes():
        settings = loaded.config.operational
        gateway.accounts.log(is_on=settings.access_log)
        if settings.log_level != known:
            set_level(settings.log_level)
        known = settings.log_level


async def survey(
    live: LiveConfig,
    environment: Mapping[str, str],
    seconds: float,
    beside: Beside = ALONE,
) -> Survey:
    """Open every backend once, within a time, and return what there is."""
    async with running(live, environment, beside) as gateway:
        try:
            async with asyncio.timeout(seconds):
                await gateway.readiness.reached()
        except TimeoutError:
            log.info("some backends did not answer in time", extra={"seconds": seconds})
        snapshot, known = gateway.registry.snapshot.value, gateway.inventories.known.value
        troubles = {
            key: seen.last_failure.message
            for key, seen in gateway.inventories.health.table.value.items()
            if seen.state is not State.HEALTHY and seen.last_failure is not None
        }
        made = next_round(first_round(), snapshot, known, frozenset())
        problems = tuple(sorted({*snapshot.problems, *made.problems}))
        return Survey(snapshot, made.whole.catalog, known, troubles, problems)
