"""Which of many objects are served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Choice:
    """What is served: None is the only one that there is.

    `allows_loopback` lets a `spec.remoteUrl` lead to this machine.
    """

    gateway: str | None
    group: str | None
    namespace: str | None
    allows_loopback: bool


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of manifests, and what of it is served.

    `has_operator` looks at it as a cluster would, where an operator runs the workloads and says where.
    """

    path: Path
    choice: Choice
    has_operator: bool = False
