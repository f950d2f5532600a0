"""The log level of a process that many clients share, and which of its log messages each of them wants."""

from __future__ import annotations

from vmcp.model.inventory import Era
from vmcp.protocol.call import Client
from vmcp.protocol.document import MalformedJson, unquote
from vmcp.protocol.methods import LOG_LEVELS

_RANK = {level: rank for rank, level in enumerate(LOG_LEVELS)}


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
        if level not in _RANK or client.has_ended:
            return
        key = client if client.lasting else None
        known = self._asked.get(key)
        if client.lasting or known is None or _RANK[level] < _RANK[known]:
            self._asked[key] = level

    def forget(self, client: Client) -> None:
        """Count a client no more."""
        self._asked.pop(client, None)

    def widest(self) -> str | None:
        """Return the most verbose level that anybody asked for, None if nobody did."""
        return min(self._asked.values(), key=lambda level: _RANK[level], default=None)


def wants(client: Client, level: bytes | None) -> bool:
    """Tell whether a log message of `level` (raw JSON) is one that the client asked for."""
    if client.log_level is None:
        # A session that named no level takes what the server chooses; a request that named none gets nothing.
        return client.era is Era.SESSIONED
    try:
        rank = _RANK.get(unquote(level or b""))
    except MalformedJson:
        return False
    return rank is None or rank >= _RANK.get(client.log_level, 0)
