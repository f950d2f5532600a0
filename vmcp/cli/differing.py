"""What differs between what is served and what a folder asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vmcp.cli import configuration, operations, output
from vmcp.cli.folders import snapshot
from vmcp.cli.output import TextFormat
from vmcp.cli.stop import ExitCode, Stop
from vmcp.config.load import load_all
from vmcp.discovery.choice import Folder
from vmcp.gateway.status import shown_auth
from vmcp.model.backend import Backend
from vmcp.model.fingerprint import fingerprint
from vmcp.model.problem import Problem
from vmcp.model.snapshot import Snapshot

Facts = Mapping[str, Any]
# Tells a file of the folder from one of the gateway's: their paths say nothing about what is served.
_OF_FILES = ("File/", "Folder/")
# What a cluster lacks, and no folder can.
_OF_CLUSTER = ("CustomResourceDefinition/",)
_NOT_READY = "NotReady"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: backends by name, problems, and the tools where they were asked for.

    `is_cluster` tells that an operator there says where workloads are reached, which no folder does.
    """

    backends: Mapping[str, Facts]
    problems: frozenset[str]
    tools: frozenset[str] | None
    closed: str | None
    is_cluster: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """What comes, what goes and what changes, sorted; `changed` says of each backend what of it."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]]
    tools_added: tuple[str, ...]
    tools_removed: tuple[str, ...]
    problems_added: tuple[str, ...]
    problems_removed: tuple[str, ...]

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return any(asdict(self).values())


def of_folder(chosen: Folder, config: Path | None, live_seconds: float | None) -> Side:
    """Return what a folder asks for; raise Stop where it or the config cannot be read."""
    named = configuration.sources(config, None, folder=chosen.path)
    loaded = configuration.read_all(named, load_all)
    found = snapshot(chosen, loaded)
    tools = None
    problems = found.problems
    _check_read(problems)
    if live_seconds is not None:
        from vmcp.cli.surveying import surveyed

        survey = surveyed(loaded, live_seconds, chosen)
        tools, problems = frozenset(survey.catalog.tools.names), survey.problems
    return Side(
        backends={each.name: _facts(each, found) for each in found.backends},
        problems=frozenset(f"{one.key}: {one.reason}" for one in problems),
        tools=tools,
        closed=None if found.closed is None else found.closed.reason,
    )


def _check_read(problems: Iterable[Problem]) -> None:
    """Raise Stop where a part of a folder cannot be read: what it asks for is not known then."""
    unread = [each for each in problems if str(each.key).startswith(_OF_FILES)]
    if unread:
        lines = (f"{each.key.name}: {each.reason}: {each.message}" for each in unread)
        raise Stop("\n".join(lines), ExitCode.USAGE)


def _facts(backend: Backend, found: Snapshot) -> Facts:
    return {
        "object": str(backend.key),
        "auth": shown_auth(backend, found),
        "fingerprint": fingerprint(backend),
    }


def of_gateway(ops_url: str, *, with_tools: bool) -> Side:
    """Return what a running gateway serves; raise Stop where none answers."""
    told = operations.get(ops_url, "/status")
    if any("fingerprint" not in one for one in told["backends"]):
        raise Stop(
            "The gateway is of an older version, which cannot be compared.", ExitCode.TROUBLE
        )
    keys = ("object", "auth", "fingerprint")
    # Without a look at the lists nobody knows what would be wrong with them.
    problems = [one for one in told["problems"] if with_tools or one.get("about") != "lists"]
    return Side(
        backends={one["name"]: {key: one[key] for key in keys} for one in told["backends"]},
        problems=frozenset(f"{one['object']}: {one['reason']}" for one in problems),
        tools=frozenset(_tools(ops_url)) if with_tools else None,
        closed=told["closed"] and told["closed"]["reason"],
        is_cluster=any(one["source"] == "kubernetes" for one in told["sources"]),
    )


def _tools(ops_url: str) -> Iterator[str]:
    after: int | None = 0
    while after is not None:
        query = {"show": "listed", "kind": "tool", "search": "", "after": str(after)}
        page = operations.get(ops_url, "/status/catalog", query)
        yield from (row["name"] for row in page["rows"])
        after = page["next"]


def difference(present: Side, wanted: Side) -> Difference:
    """Return what becomes of one side if the other takes its place."""
    if present.is_cluster:
        wanted = _with_workloads(wanted, present)
    before, after = present.backends, wanted.backends
    shared = sorted(before.keys() & after.keys())
    changed = {name: tuple(_changes(before[name], after[name])) for name in shared}
    old, new = present.tools or frozenset(), wanted.tools or frozenset()
    told_before, told_after = _of_objects(present), _of_objects(wanted)
    return Difference(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed={name: what for name, what in changed.items() if what},
        tools_added=tuple(sorted(new - old)),
        tools_removed=tuple(sorted(old - new)),
        problems_added=tuple(sorted(told_after - told_before)),
        problems_removed=tuple(sorted(told_before - told_after)),
    )


def _with_workloads(wanted: Side, present: Side) -> Side:
    """Return what a folder asks for with what already runs: where it does is all that the folder lacks."""
    wrong = Counter(one.partition(": ")[0] for one in wanted.problems)
    running = {
        name: facts
        for name, facts in present.backends.items()
        if wrong[facts["object"]] == 1 and f"{facts['object']}: {_NOT_READY}" in wanted.problems
    }
    told = {f"{facts['object']}: {_NOT_READY}" for facts in running.values()}
    backends = {**wanted.backends, **running}
    return replace(wanted, backends=backends, problems=wanted.problems - told)


def _of_objects(side: Side) -> frozenset[str]:
    elsewhere = (*_OF_FILES, *_OF_CLUSTER)
    return frozenset(one for one in side.problems if not one.startswith(elsewhere))


def _changes(before: Facts, after: Facts) -> Iterator[str]:
    if before["object"] != after["object"]:
        yield f"object: {before['object']} -> {after['object']}"
    if before["auth"] != after["auth"]:
        yield f"auth: {_auth(before['auth'])} -> {_auth(after['auth'])}"
    elif before["object"] == after["object"] and before["fingerprint"] != after["fingerprint"]:
        yield "its URL, certificates, headers or limits"


def _auth(auth: Facts) -> str:
    named = f" {auth['config']}" if "config" in auth else ""
    return f"{auth['type']} ({auth['from']}{named})"


def tell(present: Side, wanted: Side, printed: TextFormat) -> None:
    """Print what differs; raise Stop where something does."""
    found = difference(present, wanted)
    if printed is TextFormat.JSON:
        output.emit_json({"changes": bool(found), **asdict(found)})
    else:
        for line in _lines(found):
            output.emit(output.visible(line))
    if found:
        raise Stop("", ExitCode.FAILED)


def _lines(found: Difference) -> Iterator[str]:
    if not found:
        yield "Nothing changes."
    yield from (f"+ backend {name}" for name in found.added)
    yield from (f"- backend {name}" for name in found.removed)
    yield from (f"~ backend {name}: {'; '.join(what)}" for name, what in found.changed.items())
    yield from (f"+ tool {name}" for name in found.tools_added)
    yield from (f"- tool {name}" for name in found.tools_removed)
    yield from (f"+ problem {one}" for one in found.problems_added)
    yield from (f"- problem {one}" for one in found.problems_removed)
