"""A namespace with very many objects: the start, the memory, the requests, and what one change costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Any

from benchmarks.cases import Gateway, echo
from benchmarks.grid import Settings
from benchmarks.kube import GATEWAY, Namespace, Object, following, missing, namespace
from benchmarks.load import quantile_ms
from benchmarks.processes import fetch, resident_bytes
from benchmarks.rows import Row, row
from benchmarks.targets import Verdict, count_verdict, memory_verdict, time_verdict
from benchmarks.wire import Connection, Lost, Place
from tests.support.cluster.definitions import path_of
from vmcp.clock import SystemClock

ENTRIES, SECRETS, AUTHS, CHANGES = 2_000, 500, 200, 40
_SITES = 4
_GROUP, _API = "team", "toolhive.stacklok.dev/v1beta1"
_WRITERS = 16
_SETTLED_SECONDS = 300.0
_WINDOW_SECONDS, _GAP_SECONDS, _LOOK_SECONDS = 0.4, 0.002, 0.1
_START_MS, _LATE_MS, _MB = 5_000.0, 100.0, 1e6
# Kinds are listed in pages of 500 and watched; Secrets are watched as one past 64.
_REQUESTS = 40


@dataclass(frozen=True, slots=True)
class Size:
    """How many objects there are; the first Secrets belong to auth configs, the others to entries."""

    entries: int
    secrets: int
    auths: int

    @property
    def each(self) -> int:
        """How many entries refer to one auth config."""
        return self.entries // self.auths

    def objects(self, sites: tuple[str, ...]) -> Iterator[Object]:
        """Yield all of them."""
        yield _object(_API, "MCPGroup", _GROUP, spec={})
        gateway = {"groupRef": {"name": _GROUP}, "incomingAuth": {"type": "anonymous"}}
        yield _object(_API, "VirtualMCPServer", GATEWAY, spec=gateway)
        yield from (secret(number, "first") for number in range(self.secrets))
        yield from (_auth(number) for number in range(self.auths))
        yield from (self.entry(number, sites, "first") for number in range(self.entries))

    def entry(self, number: int, sites: tuple[str, ...], word: str) -> Object:
        """Return an entry that sends a word, and as many as there are Secrets left for a secret as well."""
        forward: dict[str, object] = {"addPlaintextHeaders": {"X-Word": word}}
        if self.auths + number < self.secrets:
            ref = {"name": _secret_name(self.auths + number), "key": "value"}
            forward["addHeadersFromSecret"] = [{"headerName": "X-Key", "valueSecretRef": ref}]
        spec = {
            "groupRef": {"name": _GROUP},
            "remoteUrl": f"{sites[number % len(sites)]}/e{number:04}/mcp",
            "transport": "streamable-http",
            "externalAuthConfigRef": {"name": f"a{number % self.auths:04}"},
            "headerForward": forward,
        }
        return _object(_API, "MCPServerEntry", f"e{number:04}", spec=spec)

    def changes(self, sites: tuple[str, ...], count: int) -> Iterator[tuple[Object, int]]:
        """Yield an entry, a Secret of an entry and one of an auth, changed, with the number of entries touched."""
        for number in range(count):
            word = f"change {number}"
            three = (
                (self.entry(self.entries - 1 - number, sites, word), 1),
                (secret(self.auths + number % (self.secrets - self.auths), word), 1),
                (secret(number % self.auths, word), self.each),
            )
            yield three[number % 3]


def secret(number: int, value: str) -> Object:
    """Return a Secret with one key."""
    return _object("v1", "Secret", _secret_name(number), stringData={"value": value})


def _secret_name(number: int) -> str:
    return f"s{number:04}"


def _auth(number: int) -> Object:
    ref = {"name": _secret_name(number), "key": "value"}
    injected = {"headerName": "X-Api-Key", "valueSecretRef": ref}
    spec = {"type": "headerInjection", "headerInjection": injected}
    return _object(_API, "MCPExternalAuthConfig", f"a{number:04}", spec=spec)


def _object(api: str, kind: str, name: str, **more: object) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}


async def large_namespace(
    settings: Settings, say: Callable[[str], None]
) -> tuple[list[Row], list[Verdict]]:
    """Measure a gateway of very many entries from its start on, then change one object after the other."""
    reason = missing()
    if reason is not None:
        say(f"There is no Kubernetes API server here; NOT MEASURED: {reason}")
        return [], []
    size = Size(*(round(each * settings.share) for each in (ENTRIES, SECRETS, AUTHS)))
    say(f"starting an API server with {size.entries} entries and {size.secrets} Secrets")
    with namespace({"rbac": {"namespaceWide": True}}) as place:
        async with AsyncExitStack() as stack:
            opened = [await stack.enter_async_context(echo("--tools", 1)) for _ in range(_SITES)]
            sites = tuple(url for url, _ in opened)
            await _apply(place, size.objects(sites))
            say("starting the gateway, and changing one object after the other")
            return await _measured(place, size, sites, max(6, round(CHANGES * settings.share)))


async def _measured(
    place: Namespace, size: Size, sites: tuple[str, ...], count: int
) -> tuple[list[Row], list[Verdict]]:
    began = SystemClock().now()
    async with following(place, lambda front: _knows(front, size.entries)) as front:
        source = await _source(front)
        # By then it dials all of them, and answers late.
        started = (datetime.fromisoformat(source["readAt"]) - began).total_seconds()
        await _settled(front, size.entries)
        memory = resident_bytes(front.pid)
        quiet = await _late(front, [None] * count, place)
        changes = [*size.changes(sites, count)]
        late = await _late(front, [each for each, _ in changes], place)
        after = await _source(front)
    rows = [
        row("kubernetes-many-start", "both", 0, [{"p50_ms": started * 1000}]),
        row("kubernetes-many-quiet", "both", 0, [_quantiles(quiet)]),
        row("kubernetes-many-change", "both", 0, [_quantiles(late)]),
    ]
    converted = (after["converted"] - source["converted"]) / sum(touched for _, touched in changes)
    return rows, [
        *start_verdicts(size, started * 1000, source["requests"], memory),
        *change_verdicts(size, converted, rows[-1].p99_ms),
    ]


def _quantiles(seconds: list[float]) -> dict[str, float | None]:
    return {"p50_ms": quantile_ms(seconds, 0.50), "p99_ms": quantile_ms(seconds, 0.99)}


def start_verdicts(
    size: Size, started_ms: float, requests: float, memory: float
) -> Iterator[Verdict]:
    """Judge the start."""
    claim = f"a namespace of {size.entries} entries, {size.secrets} Secrets"
    yield time_verdict(f"{claim}: known after the start", started_ms, _START_MS)
    yield Verdict(f"{claim}: requests until then", requests, _REQUESTS, _REQUESTS)
    most = 130 + 0.1 * size.entries
    yield memory_verdict(f"{claim}: memory with all connected", memory / _MB, most, "MB")


def change_verdicts(size: Size, converted: float, late_ms: float | None) -> Iterator[Verdict]:
    """Judge what one change costs."""
    claim = f"one change among {size.entries} entries"
    yield Verdict(f"{claim}: entries converted of those touched", converted, 1.0, 1.0)
    yield count_verdict(f"{claim}: entries touched that were converted", converted, 1.0)
    yield time_verdict(f"{claim}: latest answer of /health, p99", late_ms, _LATE_MS)


async def _late(front: Gateway, changes: Iterable[Object | None], place: Namespace) -> list[float]:
    """Make the changes one after the other, and return how late /health was answered around each at most."""
    found: list[float] = []
    async with _asking(front) as answered:
        for each in changes:
            answered.clear()
            if each is not None:
                await asyncio.to_thread(_put, place, each)
            await asyncio.sleep(_WINDOW_SECONDS)
            found.append(max(answered))
    return found


@asynccontextmanager
async def _asking(front: Gateway) -> AsyncIterator[list[float]]:
    """Ask /health again and again for the block, in one connection; give how long the answers took."""
    place = Place.of(front.url.removesuffix("/mcp") + "/health")
    connection = await Connection.open(place)
    took: list[float] = []

    async def ask() -> None:
        while True:
            began = perf_counter()
            await connection.fetch(place.head("GET", {}) + b"\r\n")
            took.append(perf_counter() - began)
            await asyncio.sleep(_GAP_SECONDS)

    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(ask())
        try:
            yield took
        finally:
            asking.cancel()
            connection.close()


async def _source(front: Gateway) -> dict[str, Any]:
    """Return what the source of the namespace tells of itself."""
    told = json.loads((await fetch(f"{front.operations}/status")).body)
    (found,) = (each for each in told["sources"] if each["source"] == "kubernetes")
    return dict(found)


async def _knows(front: Gateway, entries: int) -> bool:
    with suppress(OSError, Lost):
        return bool((await _source(front))["backends"] == entries)
    return False


async def _settled(front: Gateway, entries: int) -> None:
    """Wait until all backends are connected."""
    async with asyncio.timeout(_SETTLED_SECONDS):
        while True:
            with suppress(TimeoutError):
                told = json.loads((await fetch(f"{front.operations}/status")).body)
                if told["catalog"]["tools"] == entries:
                    return
            await asyncio.sleep(_LOOK_SECONDS)


async def _apply(place: Namespace, objects: Iterable[Object]) -> None:
    """Make objects, some at a time; kubectl would take minutes."""
    found = [*objects]

    def write(first: int) -> None:
        for each in found[first::_WRITERS]:
            _put(place, each)

    async with asyncio.TaskGroup() as tasks:
        for first in range(_WRITERS):
            tasks.create_task(asyncio.to_thread(write, first))


def _put(place: Namespace, each: Object) -> None:
    kind = str(each["kind"])
    path = (
        path_of(kind, place.name)
        if kind != "Secret"
        else f"/api/v1/namespaces/{place.name}/secrets"
    )
    place.cluster.admin.apply(path, dict(each))
