"""Who may come in, as one value that follows the config: a request is judged by the one that it met."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from vmcp.auth.incoming import Anonymous, IncomingAuth, by_api_key, lost
from vmcp.config.load import Loaded
from vmcp.latest import Latest
from vmcp.model.identity import Caller
from vmcp.transport.incoming.arrival import Proxies, proxies
from vmcp.transport.incoming.limits import Doors, doors

log = logging.getLogger(__name__)

Expel = Callable[[frozenset[Caller]], None]


@dataclass(frozen=True, slots=True)
class Entrance:
    """From where, through whom and as whom one may come in, and how many at once.

    `passed` are the headers that backends may get.
    """

    doors: Doors
    proxies: Proxies
    auth: IncomingAuth
    most_requests: int
    passed: frozenset[str] = frozenset()


def entrance(loaded: Loaded) -> Entrance:
    """Return the entrance that a config describes."""
    config, server = loaded.config, loaded.config.server
    is_open = config.incoming_auth.type == "anonymous"
    return Entrance(
        doors(server.host, server.allowed_hosts, server.allowed_origins),
        proxies(server.trusted_proxies),
        Anonymous() if is_open else by_api_key(loaded.api_keys),
        server.limits.requests,
        frozenset(name.lower() for name in config.passthrough_headers),
    )


async def follow(loaded: Latest[Loaded], cell: Latest[Entrance], expel: Expel) -> None:
    """Keep the entrance as the config says until cancelled; who may not come in any more is expelled."""
    async for each in loaded.changes():
        before, now = cell.value, entrance(each)
        if not cell.set(now):
            continue
        if gone := lost(before.auth, now.auth):
            log.info("callers lost their credentials", extra={"callers": len(gone)})
            expel(gone)
