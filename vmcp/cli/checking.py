"""What `vmcp validate` finds: the backends of a config file, how they fare, and all problems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never
from urllib.parse import urlsplit

from vmcp.cli import configuration, output
from vmcp.cli.configuration import Load
from vmcp.cli.folders import snapshot
from vmcp.cli.output import TableFormat
from vmcp.cli.stop import ExitCode, Stop
from vmcp.config.load import Loaded, Sources
from vmcp.discovery.choice import Folder
from vmcp.model.auth import AuthDecision, AuthSpec, BearerToken, HeaderInjection, NoAuth
from vmcp.model.backend import Backend, Endpoint, HttpEndpoint, StdioEndpoint
from vmcp.model.inventory import Inventory
from vmcp.model.problem import Problem

# What is known of one backend, by the names that `--output json` uses.
Facts = Mapping[str, object]

CONFIGURED = ("name", "transport", "place", "timeout", "auth")
FARED = ("name", "era", "version", "tools", "prompts", "resources", "templates", "trouble")
# What parts of paths usually look like; others may be keys, as some services have them in their URLs.
_PLAIN = re.compile(r"[a-z._-]{0,20}|v[0-9]{1,3}")


def check(sources: Sources, printed: TableFormat, load: Load, chosen: Folder | None) -> None:
    """Check a config and a folder alone and print their backends; raise Stop if something is wrong."""
    found = snapshot(chosen, _loaded(sources, printed, load))
    decided = {} if chosen is None else found.decisions
    facts = [
        {**configured(one), **_decision(decided.get(one.key)), **_object(one, chosen)}
        for one in found.backends
    ]
    columns = CONFIGURED if chosen is None else (*CONFIGURED, "from", "object")
    _report(sources, columns, facts, found.problems, printed)


def _object(backend: Backend, chosen: Folder | None) -> Facts:
    return {} if chosen is None else {"object": str(backend.key)}


def _decision(decision: AuthDecision | None) -> Facts:
    """Return who decided on the auth of a backend."""
    if decision is None:
        return {}
    named = "" if decision.config is None else f": {decision.config}"
    return {"from": f"{decision.origin.value}{named}"}


def check_live(
    sources: Sources, seconds: float, printed: TableFormat, load: Load, chosen: Folder | None
) -> None:
    """Connect to all backends and print what they offer; raise Stop if something is wrong."""
    from vmcp.cli.surveying import surveyed

    found = surveyed(_loaded(sources, printed, load), seconds, chosen)
    facts = [
        fared(backend, found.inventories.get(backend.key), found.troubles.get(backend.key))
        for backend in found.snapshot.backends
    ]
    _report(sources, FARED, facts, found.problems, printed)


def _loaded(sources: Sources, printed: TableFormat, load: Load) -> Loaded:
    if printed is TableFormat.JSON:
        return configuration.read_all_for_programs(sources, load)
    return configuration.read_all(sources, load)


def configured(backend: Backend) -> Facts:
    """Return what the file says of a backend; nothing that may be secret."""
    return {
        "name": backend.name,
        "transport": backend.transport,
        "place": _place(backend.endpoint),
        "timeout": f"{backend.timeout_seconds:g}s",
        "auth": _auth(backend.auth),
    }


def fared(backend: Backend, inventory: Inventory | None, trouble: str | None) -> Facts:
    """Return what a backend said when it was connected to, and what went wrong."""
    if inventory is None:
        return {"name": backend.name, "trouble": trouble or "It did not answer in time."}
    return {
        "name": backend.name,
        "era": inventory.peer.era.value,
        "version": inventory.peer.version,
        "tools": len(inventory.tools),
        "prompts": len(inventory.prompts),
        "resources": len(inventory.resources),
        "templates": len(inventory.templates),
        **({"trouble": trouble} if trouble else {}),
    }


def _place(endpoint: Endpoint) -> str:
    match endpoint:
        case HttpEndpoint():
            return _without_keys(endpoint.url)
        case StdioEndpoint():
            # So may arguments.
            return endpoint.command
        case _:
            assert_never(endpoint)


def _without_keys(url: str) -> str:
    """Return a URL without its query, and without those parts of its path that may be a key."""
    parts = urlsplit(url)
    named = [each if _PLAIN.fullmatch(each) else "..." for each in parts.path.split("/")]
    return parts._replace(path="/".join(named), query="").geturl()


def _auth(auth: AuthSpec) -> str:
    match auth:
        case NoAuth():
            return "none"
        case HeaderInjection():
            return f"header {auth.header}"
        case BearerToken():
            return "bearer token"
        case _:
            assert_never(auth)


def _report(
    sources: Sources,
    columns: Sequence[str],
    facts: Sequence[Facts],
    problems: Iterable[Problem],
    printed: TableFormat,
) -> None:
    found = [
        {"object": str(one.key), "reason": one.reason, "message": one.message} for one in problems
    ]
    lost = sum("trouble" in one for one in facts)
    is_ok = not found and not lost
    if printed is TableFormat.JSON:
        output.emit_json({"ok": is_ok, "backends": facts, "problems": found})
    else:
        name = ", ".join(sources.names)
        output.emit(f"{name}: ok" if is_ok else f"{name}: valid, but")
        _tables(columns, facts, found)
    if not is_ok:
        raise Stop(_verdict(lost, len(found)), ExitCode.FAILED)


def _tables(columns: Sequence[str], facts: Sequence[Facts], problems: Sequence[Facts]) -> None:
    if facts:
        output.emit_table(columns, [[str(one.get(key, "")) for key in columns] for one in facts])
    if problems:
        output.emit("")
        output.emit_table(
            ("Object", "Reason", "Message"),
            [[str(cell) for cell in one.values()] for one in problems],
        )


def _verdict(lost: int, problems: int) -> str:
    counts = [
        (lost, "backend in trouble", "backends in trouble"),
        (problems, "problem", "problems"),
    ]
    said = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    hint = "; 'vmcp doctor' tells what to do" if lost else ""
    return f"{' and '.join(said)}{hint}."
