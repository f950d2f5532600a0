"""Which of the objects of a folder are served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Choice:
    """A folder, and what of it is served: None is the only one that there is.

    `allows_loopback` lets a `spec.remoteUrl` lead to this machine.
    """

    folder: Path
    gateway: str | None
    group: str | None
    namespace: str | None
    allows_loopback: bool
