"""Tell the era of one incoming POST; the rule is that of the specification of 2026-07-28."""

from __future__ import annotations

from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol.methods import META_VERSION, SESSIONED_VERSIONS


def era_of(header: str | None, method: str | None, meta: Document | None) -> Era:
    """Return the era of a message from its version header, its method and the members of `params._meta`."""
    if header is not None and header not in SESSIONED_VERSIONS:
        return Era.STATELESS
    if method != "initialize" and meta is not None and meta.get(META_VERSION) is not None:
        return Era.STATELESS
    return Era.SESSIONED
