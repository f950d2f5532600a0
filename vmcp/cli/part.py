"""Which part of the whole a launched gateway serves, by the options that name it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vmcp.cli.stop import ExitCode, Stop
from vmcp.config.faults import near
from vmcp.config.load import Loaded
from vmcp.discovery.source import Source
from vmcp.discovery.static import contribution
from vmcp.model.view import WHOLE, NamedView, OneBackend, View


def part(loaded: Loaded, backend: str | None, view: str | None, others: Sequence[Source]) -> View:
    """Return the part that an option names; raise Stop where it is known that neither config nor source has it."""
    found = contribution(loaded)
    if backend is not None:
        all_of_them = (found, *(other.contribution.value for other in others))
        if all(one.is_known for one in all_of_them):
            _check("backend", backend, (each.name for one in all_of_them for each in one.backends))
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
