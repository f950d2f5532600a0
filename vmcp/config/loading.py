"""How the loading of the config went, as a value that status and metrics show."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Which files are in force since when, how often they were read anew, and whether that fails now.

    `reloads` counts the attempts that went well after the start, `failures` the others.
    """

    sources: tuple[str, ...]
    loaded_at: datetime
    reloads: int = 0
    failures: int = 0
    failure: LoadFailure | None = None
