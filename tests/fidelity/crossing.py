"""What a client of the other era gets: the documented changes, written down a second time."""

from __future__ import annotations

from tests.support.raw_json import Members, members
from tests.support.raw_server import Era

STATELESS_ONLY = (b'"resultType"', b'"ttlMs"', b'"cacheScope"')
SERVER_INFO = b'"io.modelcontextprotocol/serverInfo"'
COMPLETE = (b'"resultType"', b'"complete"')
READ_HINTS = ((b'"ttlMs"', b"0"), (b'"cacheScope"', b'"private"'))


def result(raw: bytes, method: str, to: Era) -> Members:
    """Return the members of a result of one era as a client of the other one, `to`, must get it."""
    if to is Era.SESSIONED:
        return _without_stateless(members(raw))
    hints = READ_HINTS if method == "resources/read" else ()
    return (*members(raw), COMPLETE, *hints)


def _without_stateless(found: Members) -> Members:
    kept = []
    for key, value in found:
        if key in STATELESS_ONLY or (key == b'"structuredContent"' and value[:1] != b"{"):
            continue
        if key == b'"_meta"':
            meta = tuple(each for each in members(value) if each[0] != SERVER_INFO)
            if len(meta) != len(members(value)):
                if meta:
                    kept.append((key, b"{" + b",".join(k + b":" + v for k, v in meta) + b"}"))
                continue
        kept.append((key, value))
    return tuple(kept)


def tool(raw: bytes) -> Members:
    """Return the members of a stateless tool as a sessioned client must get it."""
    return tuple(
        (key, value)
        for key, value in members(raw)
        if key != b'"outputSchema"' or _is_object_schema(value)
    )


def _is_object_schema(raw: bytes) -> bool:
    return raw[:1] == b"{" and (b'"type"', b'"object"') in members(raw)
