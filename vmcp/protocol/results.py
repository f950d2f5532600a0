"""Tell by its ends alone what kind of result one is: most are written so, and large ones are costly to search."""

from __future__ import annotations

from vmcp.model.inventory import Era

_COMPLETE = (b'{"resultType":"complete"', b'"resultType":"complete"}')
_CONTENT = b'{"content":'


def is_plain(result: bytes, era: Era) -> bool:
    """Tell whether a tool's result is surely one for good; False means that a closer look is needed."""
    if era is Era.SESSIONED:
        return result.startswith(_CONTENT)
    return result.startswith(_COMPLETE[0]) or result.endswith(_COMPLETE[1])
