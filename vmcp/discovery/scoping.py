"""How sources of custom resources convert: by what was chosen, and by the config that is in force."""

from __future__ import annotations

from vmcp.config.load import Loaded
from vmcp.crd.scope import Scope
from vmcp.discovery.choice import Choice


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
