"""The log level of a process that many clients share."""

from __future__ import annotations

from vmcp.protocol.call import Client
from vmcp.protocol.loglevels import RANK


class Levels:
    """Keep what clients asked for; the most verbose of it is what the process is told.

    A client session counts until it ends. A client without one has no end that we see, so what it asked
    for once counts for good.
    """

    def __init__(self) -> None:
        self._asked: dict[Client | None, str] = {}

    def take(self, client: Client) -> None:
        """Take note of the level that a client wants now."""
        level = client.log_level
        if level not in RANK or client.has_ended:
            return
        key = client if client.lasting else None
        known = self._asked.get(key)
        if client.lasting or known is None or RANK[level] < RANK[known]:
            self._asked[key] = level

    def forget(self, client: Client) -> None:
        """Count a client no more."""
        self._asked.pop(client, None)

    def widest(self) -> str | None:
        """Return the most verbose level that anybody asked for, None if nobody did."""
        return min(self._asked.values(), key=lambda level: RANK[level], default=None)
