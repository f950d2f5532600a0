"""What we say that we can do: our own part, and what the backends can."""

from __future__ import annotations

from vmcp import __version__
from vmcp.catalog.lookup import Catalog
from vmcp.model.inventory import Peer
from vmcp.protocol.document import is_object, quote, split

SERVER_INFO = b'{"name":"vmcp","title":"vmcp gateway","version":' + quote(__version__) + b"}"


def capabilities(catalog: Catalog) -> bytes:
    """Return our capabilities as raw JSON.

    Lists may always grow, so they are always offered; the rest only where a backend has it.
    """
    offered = [peer.capabilities for peer in catalog.peers.values()]
    resources = b'{"listChanged":true}'
    if any(takes_subscriptions(peer) for peer in catalog.peers.values()):
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


def takes_subscriptions(peer: Peer) -> bool:
    """Tell whether a backend offers updates of single resources."""
    raw = peer.capabilities.get(b'"resources"')
    return raw is not None and is_object(raw) and split(raw).get(b'"subscribe"') == b"true"
