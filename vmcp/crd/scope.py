"""What of a World is served, and what the process itself says that no object does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scope:
    """The gateway of this process: a VirtualMCPServer by name, a group, or the only one that there is.

    `source` names the source that contributes. `has_operator` says whether statuses tell how workloads are
    reached; without one nobody runs proxies, and their servers are dialled themselves. `timeout_seconds`,
    `timeouts` and `passthrough` hold where no VirtualMCPServer is served.
    """

    source: str
    gateway: str | None
    group: str | None
    has_operator: bool
    allows_loopback: bool
    timeout_seconds: float
    timeouts: Mapping[str, float] = field(default_factory=dict)
    passthrough: tuple[str, ...] = ()
