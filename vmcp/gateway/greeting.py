"""What a client is told when it asks who we are: made once for each catalog."""

from __future__ import annotations

from vmcp.catalog.lookup import Catalog
from vmcp.gateway.capabilities import capabilities
from vmcp.gateway.instructions import instructions
from vmcp.model.inventory import Era
from vmcp.model.snapshot import Snapshot
from vmcp.protocol.document import quote


def greeting(catalog: Catalog, snapshot: Snapshot, era: Era) -> bytes:
    """Return the members `capabilities` and, if any backend gives some, `instructions` as raw JSON."""
    named = sorted(snapshot.backends, key=lambda backend: backend.name)
    peers = tuple(catalog.peers[each.key] for each in named if each.key in catalog.peers)
    told = instructions(catalog, snapshot.backends)
    more = b"" if told is None else b',"instructions":' + quote(told)
    return b'"capabilities":' + capabilities(peers, era) + more
