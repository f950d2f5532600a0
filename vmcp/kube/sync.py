"""How well the store knows a kind of objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Phase(StrEnum):
    """What the watch of a kind is at."""

    STARTING = "starting"
    SYNCED = "synced"
    NOT_INSTALLED = "notInstalled"
    FORBIDDEN = "forbidden"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Sync:
    """The phase and since when it holds, its last error, the version that is read, whether all was ever read."""

    phase: Phase
    since: datetime
    error: str
    version: str
    is_listed: bool

    @property
    def is_settled(self) -> bool:
        """Whether the store holds all that there is, as far as is known."""
        return self.is_listed or self.phase is Phase.NOT_INSTALLED
