"""The gateway in front of many backends: a large catalog, a hanging backend among good ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from time import perf_counter

from benchmarks.cases import Gateway, echo, gateway, load
from benchmarks.client import Client
from benchmarks.eras import ERAS
from benchmarks.grid import Settings
from benchmarks.processes import fetch, output_of, python
from benchmarks.rows import Found, Row, row
from benchmarks.targets import Verdict, count_verdict, time_verdict

BACKENDS = 100
TOOLS = 200
PAGE = 40
_CALLERS = 4
_LIST_SECONDS = 60.0
_REBUILD_SECONDS = 120.0
_POLL_SECONDS = 0.1
_GROW_EVERY_SECONDS = 0.25

_FEW = 20
_FEW_TOOLS = 10

Outcome = tuple[list[Row], list[Verdict]]


async def large_catalog(settings: Settings, say: Callable[[str], None]) -> Outcome:
    """Measure lists, initialize and calls with 100 backends of 200 tools each."""
    say(f"starting the gateway with {BACKENDS} backends x {TOOLS} tools")
    async with echo("--tools", TOOLS, "--page", PAGE) as (backends, _):
        members = [_member(f"b{number:02}", backends) for number in range(BACKENDS)]
        async with gateway(members) as front:
            listed = await _listed(front, BACKENDS * TOOLS)
            rows: list[Row] = []
            claim = f"tools listed of {BACKENDS} backends x {TOOLS}"
            verdicts = [count_verdict(claim, listed, BACKENDS * TOOLS)]
            for era in ERAS:
                say(f"lists, first requests and calls of {era} clients")
                found, judged = await _large_catalog_of(front, era, settings)
                rows += found
                verdicts += judged
            rows.append(await _while_growing(front, backends, settings))
    rebuilt = await _rebuilt()
    verdicts.append(time_verdict("catalog of 20,000 tools rebuilt, median", rebuilt.p50_ms, 300))
    return [*rows, rebuilt], verdicts


async def _rebuilt() -> Row:
    command = python("benchmarks.rebuild", "--backends", BACKENDS, "--tools", TOOLS)
    found = json.loads(await output_of(command, seconds=_REBUILD_SECONDS))
    return row("catalog-20000-rebuilt", "both", 0, [found])


async def _large_catalog_of(front: Gateway, era: str, settings: Settings) -> Outcome:
    run = partial(_load, front, era=era, settings=settings)
    lists = row("gateway-20000-list", era, 1, [await run(mode="list", connections=1)])
    opened = row("gateway-20000-open", era, 1, [await run(mode="init", connections=1)])
    verdicts = [
        time_verdict(f"{era}: first page of 20,000 tools, median", lists.p50_ms, 20),
        time_verdict(f"{era}: initialize or discover, median", opened.p50_ms, 5),
    ]
    return [lists, opened], verdicts


async def _while_growing(front: Gateway, backends: str, settings: Settings) -> Row:
    """Measure calls while backends get new tools, so that the catalog is built again and again."""
    era = ERAS[0]
    async with asyncio.TaskGroup() as tasks:
        growing = tasks.create_task(_grow(backends))
        found = await _load(
            front,
            era=era,
            settings=settings,
            mode="call",
            connections=_CALLERS,
            tool="b00_echo",
        )
        growing.cancel()
    return row("gateway-20000-growing", era, _CALLERS, [found])


async def _grow(backends: str) -> None:
    number = 0
    while True:
        await fetch(f"{backends}/b{number % BACKENDS:02}/grow", "POST")
        number += 1
        await asyncio.sleep(_GROW_EVERY_SECONDS)


async def hanging_backend(settings: Settings, say: Callable[[str], None]) -> Outcome:
    """Measure initialize and lists from the start on, with one silent backend of 20."""
    say(f"starting the gateway with {_FEW} backends, one of which hangs")
    rows: list[Row] = []
    verdicts: list[Verdict] = []
    async with echo("--tools", _FEW_TOOLS) as (good, _), echo("--hang") as (silent, _):
        members = [_member(f"b{number:02}", good) for number in range(1, _FEW)]
        members.insert(0, _member("b00", silent))
        for era in ERAS:
            # A gateway of its own for each era: what counts is the time from the start on.
            async with gateway(members, ready_path="/health") as front:
                found, judged = await _with_hanging_one(front, era, settings)
                listed = await _listed(front, (_FEW - 1) * _FEW_TOOLS)
            rows += found
            verdicts += judged
            claim = f"{era}: tools of the {_FEW - 1} other backends listed"
            verdicts.append(count_verdict(claim, listed, (_FEW - 1) * _FEW_TOOLS))
    return rows, verdicts


async def _with_hanging_one(front: Gateway, era: str, settings: Settings) -> Outcome:
    rows: list[Row] = []
    for mode in ("init", "list"):
        found = await _load(
            front, era=era, settings=settings, mode=mode, connections=_CALLERS, warm_seconds=0
        )
        rows.append(row(f"gateway-hanging-{mode}", era, _CALLERS, [found]))
    claim = "with a hanging backend, p99"
    return rows, [
        time_verdict(f"{era}: initialize or discover {claim}", rows[0].p99_ms, 100),
        time_verdict(f"{era}: tools/list {claim}", rows[1].p99_ms, 100),
    ]


def _member(name: str, site: str) -> dict[str, object]:
    return {"name": name, "url": f"{site}/{name}/mcp"}


async def _load(front: Gateway, *, settings: Settings, **options: object) -> Found:
    options = {"warm_seconds": settings.warm_seconds, **options}
    return await load(front.url, seconds=settings.seconds, pid=front.pid, **options)


async def _listed(front: Gateway, expected: int) -> int:
    """Return how many tools are listed, as soon as all are, or after a minute."""
    deadline = perf_counter() + _LIST_SECONDS
    while True:
        count = await _count_tools(front)
        if count >= expected or perf_counter() > deadline:
            return count
        await asyncio.sleep(_POLL_SECONDS)


async def _count_tools(front: Gateway) -> int:
    client = await Client.connect(front.url, ERAS[0])
    try:
        await client.open()
        names: set[str] = set()
        page = await client.ask("tools/list", {})
        names.update(tool.name for tool in page.tools)
        while page.next_cursor is not None:
            page = await client.ask("tools/list", {"cursor": page.next_cursor})
            names.update(tool.name for tool in page.tools)
        return len(names)
    finally:
        await client.close()
