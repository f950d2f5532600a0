"""Which part of the whole a launched gateway serves, by the options that name it."""

from __future__ import annotations

from collections.abc import Iterable

from vmcp.cli.stop import ExitCode, Stop
from vmcp.config.faults import near
from vmcp.config.load import Loaded
from vmcp.discovery.static import contribution
from vmcp.model.view import WHOLE, NamedView, OneBackend, View


def chosen(loaded: Loaded, backend: str | None, view: str | None) -> View:
    """Return the part that an option names; raise Stop where the config has none of that name."""
    found = contribution(loaded)
    if backend is not None:
        _check("backend", backend, (each.name for each in found.backends))
        return OneBackend(backend)
    if view is not None:
        _check("view", view, (each.name for each in found.views or ()))
        return NamedView(view)
    return WHOLE


def _check(kind: str, name: str, names: Iterable[str]) -> None:
    known = tuple(names)
    if name not in known:
        hint = near(name, known)
        said = f"The config has no {kind} {name!r}."
        raise Stop(said if hint is None else f"{said} {hint}", ExitCode.USAGE)
