"""What changes in a backend's answer for a client of the other era, and only there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol.call import Done
from vmcp.protocol.document import MalformedJson, is_object, split
from vmcp.protocol.failures import INTERNAL_ERROR, INVALID_PARAMS
from vmcp.protocol.methods import META_SERVER_INFO

_COMPLETE = (b'"resultType"', b'"complete"')
# A backend that gives no hint allows no caching.
_READ_HINTS: tuple[tuple[bytes, Callable[[bytes], bool], bytes], ...] = (
    (b'"ttlMs"', bytes.isdigit, b"0"),
    (b'"cacheScope"', (b'"public"', b'"private"').__contains__, b'"private"'),
)
_STATELESS_ONLY = (b'"resultType"', b'"ttlMs"', b'"cacheScope"')
_OLD_NOT_FOUND, _OLD_VISIT_FIRST = b"-32002", b"-32042"


def crossed(done: Done, method: str, params: Document, to: Era) -> Done:
    """Return a backend's answer as a client of the other era, `to`, must see it."""
    try:
        return _BRIDGES[to](done, method, params)
    except MalformedJson:
        # What is no object cannot be told apart; it passes as it came.
        return done


def _to_stateless(done: Done, method: str, params: Document) -> Done:
    if done.is_error:
        return _error_to_stateless(done, params)
    result = split(done.payload).with_member(*_COMPLETE)
    if method == "resources/read":
        result = _hinted(result)
    return Done(result.join())


def _hinted(result: Document) -> Document:
    """Keep the backend's own caching hints where they are such."""
    for key, is_hint, default in _READ_HINTS:
        if not is_hint(result.get(key) or b""):
            result = result.with_member(key, default)
    return result


def _error_to_stateless(done: Done, params: Document) -> Done:
    error = split(done.payload)
    if error.get(b'"code"') == _OLD_VISIT_FIRST:
        # The era has no such code; what names its pages has become a question before.
        error = error.with_member(b'"code"', b"%d" % INTERNAL_ERROR)
        return Done(error.join(), is_error=True)
    if error.get(b'"code"') != _OLD_NOT_FOUND:
        return done
    uri = params.get(b'"uri"')
    error = error.with_member(b'"code"', b"%d" % INVALID_PARAMS)
    if uri is not None:
        data = error.get(b'"data"')
        known = split(data) if data is not None and is_object(data) else Document(())
        error = error.with_member(b'"data"', known.with_member(b'"uri"', uri).join())
    return Done(error.join(), is_error=True)


def _to_sessioned(done: Done, _method: str, _params: Document) -> Done:
    if done.is_error:
        return done
    result = split(done.payload).without(*_STATELESS_ONLY)
    meta = result.get(b'"_meta"')
    if meta is not None and META_SERVER_INFO in meta:
        kept = split(meta).without(META_SERVER_INFO)
        result = (
            result.with_member(b'"_meta"', kept.join())
            if kept.members
            else result.without(b'"_meta"')
        )
    structured = result.get(b'"structuredContent"')
    if structured is not None and not is_object(structured):
        result = result.without(b'"structuredContent"')
    return Done(result.join())


_BRIDGES: Mapping[Era, Callable[[Done, str, Document], Done]] = {
    Era.STATELESS: _to_stateless,
    Era.SESSIONED: _to_sessioned,
}
