"""Remember which backend's tool gave a resource link to which caller, for URIs that no list shows."""

from __future__ import annotations

from collections import OrderedDict

from vmcp.model.keys import ObjectKey
from vmcp.protocol.document import MalformedJson, split, split_array, unquote

_MARK = b'"resource_link"'
_MOST_LINKS = 10_000


class Links:
    """A bounded table: the oldest link is forgotten first."""

    def __init__(self) -> None:
        self._given: OrderedDict[tuple[object, str], ObjectKey] = OrderedDict()

    def learn(self, holder: object, backend: ObjectKey, result: bytes) -> None:
        """Keep the links in the result of a tool; most results have none, and cost one search."""
        if _MARK not in result:
            return
        for uri in _links(result):
            self._given[(holder, uri)] = backend
            self._given.move_to_end((holder, uri))
        while len(self._given) > _MOST_LINKS:
            self._given.popitem(last=False)

    def giver(self, holder: object, uri: str) -> ObjectKey | None:
        """Return the backend that gave `uri` to `holder`."""
        return self._given.get((holder, uri))


def _links(result: bytes) -> list[str]:
    try:
        blocks = [split(raw) for raw in split_array(split(result).get(b'"content"') or b"[]")]
        return [
            unquote(block.get(b'"uri"') or b"") for block in blocks if block.get(b'"type"') == _MARK
        ]
    except MalformedJson:
        return []
