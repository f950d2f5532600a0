"""Log levels: their order, and which log messages a client wants."""

from __future__ import annotations

from vmcp.model.inventory import Era
from vmcp.protocol.call import Client
from vmcp.protocol.document import MalformedJson, unquote
from vmcp.protocol.methods import LOG_LEVELS

RANK = {level: rank for rank, level in enumerate(LOG_LEVELS)}


def wants(client: Client, level: bytes | None) -> bool:
    """Tell whether a log message of `level` (raw JSON) is one that the client asked for."""
    if client.log_level is None:
        # A session that named no level takes what the server chooses; a request that named none gets nothing.
        return client.era is Era.SESSIONED
    try:
        rank = RANK.get(unquote(level or b""))
    except MalformedJson:
        return False
    return rank is None or rank >= RANK.get(client.log_level, 0)
