"""What a client is told when it asks who we are: made once for each catalog."""

from __future__ import annotations

from vmcp.catalog.lookup import Catalog
from vmcp.gateway.capabilities import SERVER_INFO, capabilities, part_info
from vmcp.gateway.instructions import instructions, own_instructions
from vmcp.model.inventory import Era
from vmcp.model.snapshot import Snapshot
from vmcp.model.view import WHOLE, NamedView, OneBackend, View, Whole
from vmcp.protocol.document import quote


def greeting(catalog: Catalog, snapshot: Snapshot, era: Era, view: View = WHOLE) -> bytes:
    """Return the members `capabilities` and, if any backend gives some, `instructions` as raw JSON."""
    named = sorted(snapshot.backends, key=lambda backend: backend.name)
    peers = tuple(catalog.peers[each.key] for each in named if each.key in catalog.peers)
    told = _instructions(catalog, snapshot, view)
    more = b"" if told is None else b',"instructions":' + quote(told)
    return b'"capabilities":' + capabilities(peers, era) + more


def introduction(snapshot: Snapshot, view: View) -> bytes:
    """Return our `serverInfo` as raw JSON: that of a view tells which one it is."""
    if isinstance(view, Whole):
        return SERVER_INFO
    return part_info(view.name, _description(snapshot, view))


def _description(snapshot: Snapshot, view: View) -> str | None:
    if not isinstance(view, NamedView):
        return None
    return next((each.description for each in snapshot.views if each.name == view.name), None)


def _instructions(catalog: Catalog, snapshot: Snapshot, view: View) -> str | None:
    if isinstance(view, OneBackend):
        return own_instructions(catalog.peers.values())
    parts = (_description(snapshot, view), instructions(catalog, snapshot.backends))
    return "\n\n".join(part for part in parts if part) or None
