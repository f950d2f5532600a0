"""What we say that we can do: our own part, and what the backends can."""

from __future__ import annotations

from vmcp import __version__
from vmcp.catalog.lookup import Catalog
from vmcp.protocol.document import quote

SERVER_INFO = b'{"name":"vmcp","title":"vmcp gateway","version":' + quote(__version__) + b"}"


def capabilities(catalog: Catalog) -> bytes:
    """Return our capabilities as raw JSON.

    Lists may always grow, so they are always offered; the rest only where a backend has it.
    """
    offered = [peer.capabilities for peer in catalog.peers.values()]
    resources = b'{"listChanged":true}'
    if any(
        b'"subscribe":true' in (each.get(b'"resources"') or b"").replace(b" ", b"")
        for each in offered
    ):
        resources = b'{"subscribe":true,"listChanged":true}'
    more = b"".join(
        b"," + key + b":{}"
        for key in (b'"completions"', b'"logging"')
        if any(each.get(key) for each in offered)
    )
    return (
        b'{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":'
        + resources
        + more
        + b"}"
    )
