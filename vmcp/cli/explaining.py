"""What `vmcp explain` tells: the answer of /explain in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vmcp.cli import operations, output
from vmcp.cli.output import TextFormat
from vmcp.cli.state import auth_of
from vmcp.cli.stop import ExitCode, Stop

Facts = Mapping[str, Any]
# What is wrong with each backend that is not well, by name.
Troubles = Mapping[str, str]

_WELL = frozenset(("healthy", "ready", "unauthenticated"))


def ask(ops_url: str, name: str, printed: TextFormat) -> None:
    """Have a running gateway explain a name, and print it; raise Stop where clients do not see it."""
    found = operations.get(ops_url, "/explain", {"name": name})
    told = operations.get(ops_url, "/status")
    if closed := told.get("closed"):
        if printed is TextFormat.JSON:
            output.emit_json({**found, "troubles": {}, "closed": closed})
        why = f"Nobody is served, so no client sees it: {closed['object']}: {closed['message']}"
        raise Stop(why, ExitCode.FAILED)
    troubles = {one["name"]: _trouble(one) for one in told["backends"] if one["state"] not in _WELL}
    tell(found, troubles, printed, {one["name"]: _origin(one) for one in told["backends"]})


def _trouble(backend: Facts) -> str:
    last = backend.get("lastFailure") or backend
    message = last.get("message")
    return f"{backend['state']}: {message}" if message else str(backend["state"])


def _origin(backend: Facts) -> str:
    """Return the object that a backend comes from, and who decided on its auth."""
    auth = auth_of(backend)
    decided = f", auth {auth}" if auth else ""
    return f"{backend.get('object')}{decided}" if backend.get("object") else ""


def tell(
    found: Facts, troubles: Troubles, printed: TextFormat, origins: Mapping[str, str] | None = None
) -> None:
    """Print an explanation; raise Stop where clients do not see what was asked for.

    `origins` tells where backends come from, by name, as far as that is known.
    """
    named = {one["backend"] for one in found["found"]} | set(found["unlisted"])
    concerned = {
        name: why.replace(f"Backend '{name}': ", "")
        for name, why in sorted(troubles.items())
        if name in named
    }
    if printed is TextFormat.JSON:
        output.emit_json({**found, "troubles": concerned})
    else:
        for line in _lines(found, concerned, origins or {}):
            output.emit(output.visible(line))
    if not found["found"]:
        raise Stop(_unknown(found), ExitCode.UNKNOWN_TOOL)
    if all(one["name"] is None for one in found["found"]):
        raise Stop("No client sees it.", ExitCode.FAILED)


def _lines(found: Facts, troubles: Troubles, origins: Mapping[str, str]) -> Iterator[str]:
    for one in found["found"]:
        yield from _finding(one)
        if origin := origins.get(one["backend"]):
            yield f"  - Its backend is {origin}."
        if one["backend"] in troubles:
            yield f"  - Its backend is not well: {troubles[one['backend']]}"
    for name in found["unlisted"]:
        why = troubles.get(name, "")
        yield f"Backend '{name}' may have it: what it offers is not known. {why}".rstrip()
    yield from found["mentions"]


def _finding(one: Facts) -> Iterator[str]:
    kind = str(one["kind"]).capitalize()
    if one["name"] is None:
        yield f"{kind} '{one['ownName']}' of backend '{one['backend']}' is seen by no client."
    elif one["name"] == one["ownName"]:
        yield f"{kind} '{one['name']}' leads to backend '{one['backend']}', which calls it the same."
    else:
        yield f"{kind} '{one['name']}' leads to '{one['ownName']}' of backend '{one['backend']}'."
    for sentence in one["why"]:
        yield f"  - {sentence}"
    if views := one.get("views"):
        yield f"  - It is in view {', '.join(repr(view) for view in views)}."


def _unknown(found: Facts) -> str:
    near = found["near"]
    if near:
        return f"Nothing is called '{found['name']}'. Did you mean {_either(near)}?"
    return f"Nothing is called '{found['name']}': 'vmcp tools' lists what there is."


def _either(names: list[str]) -> str:
    return " or ".join(f"'{name}'" for name in names)
