"""How soon clients hear of a change of the cluster: from the end of `kubectl apply` to list_changed."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from time import monotonic

from benchmarks.cases import echo
from benchmarks.eras import ERAS, SESSIONED, STATELESS
from benchmarks.grid import Settings
from benchmarks.kube import GATEWAY, Namespace, Object, following, missing, namespace
from benchmarks.load import quantile_ms
from benchmarks.processes import ROOT, ProcessFailed, python
from benchmarks.rows import Row, row
from benchmarks.targets import Verdict, time_verdict

ENTRIES = 50
CHANGES = 200
_TOOLS, _MORE_TOOLS = 2, 3
_HEARD_SECONDS = 30.0
_API = "toolhive.stacklok.dev/v1beta1"
_KEY, _AUTH = "backend-key", "backend-auth"
_P50_MS, _P99_MS = 300, 1000


@dataclass(frozen=True, slots=True)
class Sites:
    """Where the servers are: of each era some with few tools, and one with more."""

    few: tuple[str, ...]
    more: str

    def entry(self, number: int) -> Object:
        """Return an entry as it is at rest."""
        return _entry(number, self.few[number % len(self.few)], "team")


async def live_changes(
    settings: Settings, say: Callable[[str], None]
) -> tuple[list[Row], list[Verdict]]:
    """Change entries one after the other by kubectl, with a client of each era in a process of its own."""
    reason = missing()
    if reason is not None:
        say(f"There is no Kubernetes API server here; NOT MEASURED: {reason}")
        return [], []
    say(f"starting an API server, and a gateway of {ENTRIES} entries")
    with namespace({"rbac": {"secretNames": [_KEY]}}) as place:
        async with AsyncExitStack() as stack:
            sites = await _sites(stack)
            await place.apply(*_objects(sites))
            front = await stack.enter_async_context(following(place))
            ears = [await stack.enter_async_context(_ear(front.url, era)) for era in ERAS]
            for each in ears:
                await each.until(ENTRIES * _TOOLS)
            number = max(4, round(CHANGES * settings.share))
            say(f"{number} changes by kubectl apply")
            took = await _measure(place, sites, ears, number)
    rows = [_row(era, found) for era, found in took.items()]
    return rows, [*verdicts(rows)]


def _row(era: str, took: list[float]) -> Row:
    quantiles = {"p50_ms": quantile_ms(took, 0.50), "p99_ms": quantile_ms(took, 0.99)}
    return row("kubernetes-change-heard", era, 1, [quantiles])


def verdicts(rows: list[Row]) -> Iterator[Verdict]:
    """Judge how soon the clients of each era heard of the changes."""
    for each in rows:
        claim = f"{each.era}: list_changed after kubectl apply"
        yield time_verdict(f"{claim}, median", each.p50_ms, _P50_MS)
        yield time_verdict(f"{claim}, p99", each.p99_ms, _P99_MS)


async def _measure(
    place: Namespace, sites: Sites, ears: list[Ear], number: int
) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {each.era: [] for each in ears}
    for entry, tools in changes(sites, number):
        await place.apply(entry)
        returned = monotonic()
        for each in ears:
            # It may be heard while kubectl still says that it has ended.
            took[each.era].append(max(0.0, await each.until(tools) - returned))
    return took


def changes(sites: Sites, number: int) -> Iterator[tuple[Object, int]]:
    """Yield entries as they are to be, and how many tools there are then: each time another number."""
    usual = ENTRIES * _TOOLS
    for count in range(-(-number // 4)):
        which = count % ENTRIES
        at_rest = sites.entry(which)
        few = sites.few[which % len(sites.few)]
        four = (
            (_entry(which, few, "elsewhere"), usual - _TOOLS),
            (at_rest, usual),
            (_entry(which, sites.more, "team"), usual - _TOOLS + _MORE_TOOLS),
            (at_rest, usual),
        )
        yield from four[: number - 4 * count]


async def _sites(stack: AsyncExitStack) -> Sites:
    few = [
        await stack.enter_async_context(echo("--tools", _TOOLS, "--eras", era))
        for era in (SESSIONED, STATELESS)
    ]
    more, _ = await stack.enter_async_context(echo("--tools", _MORE_TOOLS))
    return Sites(tuple(url for url, _ in few), more)


def _objects(sites: Sites) -> Iterator[Object]:
    yield _object("v1", "Secret", _KEY, stringData={"value": "k"})
    ref = {"name": _KEY, "key": "value"}
    injected = {"headerName": "X-Api-Key", "valueSecretRef": ref}
    auth = {"type": "headerInjection", "headerInjection": injected}
    yield _object(_API, "MCPExternalAuthConfig", _AUTH, spec=auth)
    yield _object(_API, "MCPGroup", "team", spec={})
    gateway = {"groupRef": {"name": "team"}, "incomingAuth": {"type": "anonymous"}}
    yield _object(_API, "VirtualMCPServer", GATEWAY, spec=gateway)
    yield from (sites.entry(number) for number in range(ENTRIES))


def _entry(number: int, site: str, group: str) -> Object:
    spec = {
        "groupRef": {"name": group},
        "remoteUrl": f"{site}/b{number:02}/mcp",
        "transport": "streamable-http",
        "externalAuthConfigRef": {"name": _AUTH},
    }
    return _object(_API, "MCPServerEntry", f"b{number:02}", spec=spec)


def _object(api: str, kind: str, name: str, **more: object) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}


class Ear:
    """What the process of a client tells."""

    def __init__(self, era: str, told: asyncio.StreamReader) -> None:
        """Read what a client of this era prints."""
        self.era = era
        self._told = told

    async def until(self, tools: int) -> float:
        """Return when the client heard of the change after which there are so many tools."""
        async with asyncio.timeout(_HEARD_SECONDS):
            while line := await self._told.readline():
                heard = json.loads(line)
                if heard["tools"] == tools:
                    return float(heard["at"])
        raise ProcessFailed(f"The {self.era} client that listens has ended.")


@asynccontextmanager
async def _ear(url: str, era: str) -> AsyncIterator[Ear]:
    command = python("benchmarks.hearing", "--url", url, "--era", era)
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=PIPE)
    try:
        assert process.stdout is not None
        yield Ear(era, process.stdout)
    finally:
        process.kill()
        await process.wait()
