"""Answer the list methods from the catalog, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vmcp.catalog.listing import Listing
from vmcp.catalog.lookup import Catalog
from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol import paging
from vmcp.protocol.document import quote
from vmcp.protocol.methods import LISTS

PAGE_SIZE = 1000
LISTS_TTL_MS = 5000
DISCOVER_TTL_MS = 60_000

# All callers see one catalog as long as none is told apart.
STATELESS_LISTS = b',"resultType":"complete","ttlMs":%d,"cacheScope":"public"' % LISTS_TTL_MS

_LISTINGS: Mapping[str, Callable[[Catalog], Listing]] = {
    "tools/list": lambda catalog: catalog.tools,
    "prompts/list": lambda catalog: catalog.prompts,
    "resources/list": lambda catalog: catalog.resources,
    "resources/templates/list": lambda catalog: catalog.templates,
}
_HEADS = {method: b"{" + quote(member) + b":[" for method, member in LISTS.items()}


def page(catalog: Catalog, method: str, params: Document, era: Era) -> bytes:
    """Return the result of a list method; raise InvalidParams for a foreign cursor."""
    found = _LISTINGS[method](catalog).page(paging.after(params), PAGE_SIZE, era)
    more = b"" if found.last is None else b',"nextCursor":' + quote(paging.cursor(found.last))
    hints = STATELESS_LISTS if era is Era.STATELESS else b""
    return _HEADS[method] + found.items + b"]" + more + hints + b"}"
