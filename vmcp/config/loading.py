"""How the loading of the config went, as a value that status and metrics show."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from vmcp.config.errors import ConfigError


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """The last attempt found these errors, so what was loaded before stays in force."""

    at: datetime
    file: str
    errors: tuple[ConfigError, ...]


@dataclass(frozen=True, slots=True)
class Loading:
    """What is in force since when, how often it was read anew, and whether that fails now.

    `name` is what the config calls the gateway. `reloads` counts the attempts that went well after the start,
    `failures` the others; `waiting` names the keys whose new values wait for a restart.
    """

    name: str
    sources: tuple[str, ...]
    loaded_at: datetime
    reloads: int = 0
    failures: int = 0
    waiting: tuple[str, ...] = ()
    failure: LoadFailure | None = None


def shown(loading: Loading) -> dict[str, object]:
    """Return what operators are shown of it, by the names of /status."""
    return {
        "sources": loading.sources,
        "loadedAt": loading.loaded_at,
        "reloads": loading.reloads,
        "failures": loading.failures,
        "restartNeeded": loading.waiting,
        "lastError": None if loading.failure is None else _failure(loading.failure),
    }


def _failure(failure: LoadFailure) -> dict[str, object]:
    count = len(failure.errors)
    return {
        "at": failure.at,
        "file": failure.file,
        "message": f"{failure.file}: {count} error{'' if count == 1 else 's'}",
        "errors": [asdict(error) for error in failure.errors],
    }
