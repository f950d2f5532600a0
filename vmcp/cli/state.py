"""The answer of /status in words for a person; members that are not there are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from vmcp.cli import operations, output
from vmcp.cli.output import TableFormat, first_line
from vmcp.cli.stop import ExitCode, Stop
from vmcp.clock import SystemClock

Facts = Mapping[str, Any]

_WELL = frozenset(("healthy", "ready", "unauthenticated"))
_COLUMNS = (
    *("name", "state", "since", "era", "tools", "in flight", "calls", "failed"),
    *("p50 ms", "p99 ms", "last failure"),
)
# With these problems there is nothing to serve, which looks as if all were well.
_EMPTYING = frozenset(("GatewayNotFound", "GroupNotFound"))
# What a watch of the API server is at, in words.
_PHASES = {
    "starting": "not known yet",
    "notInstalled": "not installed",
    "forbidden": "forbidden",
    "failing": "failing",
}
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def show(ops_url: str, printed: TableFormat) -> None:
    """Ask a gateway how it is and print it; raise Stop when something is wrong."""
    told = operations.get(ops_url, "/status")
    if printed is TableFormat.JSON:
        output.emit_json(told)
    else:
        _print(told, SystemClock().now())
    if wrong := list(_wrong(told)):
        raise Stop(f"{'; '.join(wrong)}.", ExitCode.FAILED)


def _wrong(told: Facts) -> Iterator[str]:
    """Yield what is not as it should be."""
    if closed := told.get("closed"):
        yield f"Nobody is served: {closed['object']}: {str(closed['message']).rstrip('.')}"
    elif not told.get("ready"):
        yield "The gateway is not ready"
    for each in told.get("problems", ()):
        if each["reason"] in _EMPTYING:
            yield f"{each['object']}: {str(each['message']).rstrip('.')}"
    if failing := told.get("withheldBy"):
        yield f"Lists are errors (partialFailureMode is fail) until these are healthy: {', '.join(failing)}"
    unwell = [str(one["name"]) for one in told.get("backends", ()) if one["state"] not in _WELL]
    if unwell:
        counts = f"{len(unwell)} of {len(told['backends'])} backends"
        yield f"{counts} not well ('vmcp doctor' tells why): {', '.join(unwell)}"
    for each in told.get("sources", ()):
        if not each.get("inSync", True):
            yield f"Not all objects of {_place(each)} are known as they are now"
    if _config(told).get("lastError"):
        yield "The config file is broken ('vmcp validate' tells where), and the one before stays in force"


def _print(told: Facts, now: datetime) -> None:
    sources = told.get("sources", ())
    about = (
        _headline(told),
        *_about_config(_config(told), now),
        *_about_sources(sources, now),
        *_about_reports(told.get("reports", ()), now),
    )
    for line in about:
        output.emit(output.visible(line))
    backends = told.get("backends", ())
    rows = [(*_row(one, now), auth_of(one)) for one in backends]
    if rows:
        output.emit("")
        # Gateways of older versions do not tell of auth.
        last = len(_COLUMNS) + any("auth" in one for one in backends)
        output.emit_table((*_COLUMNS, "auth")[:last], [row[:last] for row in rows])
    if problems := told.get("problems", ()):
        output.emit("")
        cells = [[str(one[key]) for key in ("object", "reason", "message")] for one in problems]
        output.emit_table(("Object", "Reason", "Message"), cells)


def _headline(told: Facts) -> str:
    state = "ready" if told.get("ready") else "not ready"
    counts = told.get("catalog", {})
    words = {"tools": "tool", "prompts": "prompt", "resources": "resource"}
    offered = [_counted(counts[key], word) for key, word in words.items() if key in counts]
    sessions = _counted(told.get("sessions", 0), "session")
    return (
        f"{told.get('name')} (vmcp {told.get('version')}): {', '.join([state, *offered, sessions])}"
    )


def _counted(count: int, word: str) -> str:
    return f"{count} {word if count == 1 else f'{word}s'}"


def _config(told: Facts) -> Facts:
    found = told.get("config")
    return found if isinstance(found, Mapping) else {}


def _about_config(config: Facts, now: datetime) -> Iterator[str]:
    if "loadedAt" in config:
        sources = ", ".join(map(str, config.get("sources", ())))
        loaded = f"loaded {_ago(config['loadedAt'], now)} ago"
        reloaded = f"reloaded {_counted(config.get('reloads', 0), 'time')}"
        yield f"config: {sources}, {loaded}, {reloaded}"
    for key in config.get("restartNeeded") or ():
        yield f"config: the new value of {key} waits for a restart"
    if error := config.get("lastError"):
        yield f"config: broken for {_ago(error['at'], now)}, and the one before stays in force"
        yield f"  {error['message']}"
        for each in error.get("errors", ()):
            yield f"  - {each.get('path') or 'the file'}: {each.get('message')}"


def _about_sources(sources: Iterable[Facts], now: datetime) -> Iterator[str]:
    """Yield where other backends than those of the config come from, and what is not known there."""
    for each in sources:
        if each["source"] == "static":
            continue
        served = each.get("gateway") or (f"group {each['group']}" if "group" in each else "")
        place = ", ".join(filter(None, (_place(each), served)))
        count = _counted(each.get("backends", 0), "backend")
        yield f"{each['source']}: {place}, {count}, {_in_sync(each)}"
        for file in each.get("broken", ()):
            yield f"  {file} is broken"
        for one in (*each.get("kinds", ()), *each.get("byName", ())):
            if one["phase"] != "synced":
                name = f"{one['kind']}/{one['name']}" if "name" in one else one["kind"]
                error = f": {one['error']}" if "error" in one else ""
                yield f"  {name} is {_PHASES.get(one['phase'], one['phase'])} for {_ago(one['since'], now)}{error}"


def _about_reports(reports: Iterable[Facts], now: datetime) -> Iterator[str]:
    """Yield whether statuses are written, and by whom."""
    for each in reports:
        error = each.get("error") or each.get("leaseError")
        if error:
            state = f"not written: {error}"
        elif not each["leader"]:
            state = "written by another gateway"
        else:
            last = each.get("lastWrite")
            state = "not written yet" if last is None else f"written {_ago(last, now)} ago"
        yield f"status of {each['object']}: {state}"


def _place(source: Facts) -> str:
    if "namespace" in source:
        return f"namespace {source['namespace']}"
    return f"folder {source.get('folder')}"


def _in_sync(source: Facts) -> str:
    return "in sync" if source.get("inSync", True) else "not in sync"


def _row(one: Facts, now: datetime) -> Sequence[str]:
    last_minute = one.get("lastMinute") or {}
    figures = (*(one.get(key) for key in ("era", "tools", "calls", "called", "failed")),)
    times = (last_minute.get("p50Milliseconds"), last_minute.get("p99Milliseconds"))
    since = _ago(one["since"], now) if one.get("since") else ""
    cells = (one["name"], _state(one), since, *figures, *times, _failure(one, now))
    return ["" if cell is None else str(cell) for cell in cells]


def auth_of(one: Facts) -> str:
    """Return what kind of credential a backend gets, and who decided so."""
    auth = one.get("auth")
    if not auth:
        return ""
    named = f": {auth['config']}" if "config" in auth else ""
    return f"{auth['type']} ({auth['from']}{named})"


def _state(one: Facts) -> str:
    breaker = one.get("circuitBreaker") or {}
    is_cut = breaker.get("state") in ("open", "half-open")
    return f"{one['state']}, breaker {breaker['state']}" if is_cut else str(one["state"])


def _failure(one: Facts, now: datetime) -> str:
    last = one.get("lastFailure")
    if not last:
        return first_line(_said(one))
    ago = f"{_ago(last['at'], now)} ago"
    times = f", {last['count']} times" if last.get("count", 1) > 1 else ""
    return first_line(
        f"{last.get('reason')} ({ago}{times}): {_said({**last, 'name': one['name']})}"
    )


def _said(one: Facts) -> str:
    """Return the message without the name of the backend, which stands in the same line."""
    return str(one.get("message") or "").removeprefix(f"Backend '{one['name']}': ")


def _ago(when: str, now: datetime) -> str:
    """Return how long ago something was, in its largest unit."""
    seconds = max(now - datetime.fromisoformat(when), timedelta()).total_seconds()
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return "0 s"
