"""Which of many objects are served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vmcp.config.load import Loaded
from vmcp.crd.scope import Scope


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
    """A folder of manifests, and what of it is served."""

    path: Path
    choice: Choice


def scope(choice: Choice, loaded: Loaded, source: str, *, has_operator: bool) -> Scope:
    """Return how a source converts under the config that is in force."""
    config = loaded.config
    return Scope(
        source=source,
        gateway=choice.gateway,
        group=choice.group,
        has_operator=has_operator,
        allows_loopback=choice.allows_loopback,
        timeout_seconds=config.operational.timeouts.default,
        passthrough=tuple(sorted({name.lower() for name in config.passthrough_headers})),
    )
