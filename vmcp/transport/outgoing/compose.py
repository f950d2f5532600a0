"""Write the requests that go to a backend: its own names, our ids, everything else as the client sent it."""

from __future__ import annotations

from collections.abc import Iterable

from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Call, Client
from vmcp.protocol.document import EMPTY, quote
from vmcp.protocol.methods import (
    META_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_PROGRESS,
    META_VERSION,
    STATELESS_META,
    STATELESS_VERSION,
)

_META = b'"_meta"'
_methods: dict[str, bytes] = {}
_MOST_METHODS = 256
# What a backend may ask of us only where the client's era is its own: the pairs that cross carry no asks.
_INTERACTIVE = (b'"elicitation"', b'"sampling"', b'"roots"')


def method_json(method: str) -> bytes:
    """Return a method's name as raw JSON."""
    known = _methods.get(method)
    if known is None:
        known = quote(method)
        if len(_methods) < _MOST_METHODS:
            _methods[method] = known
    return known


def declared(client: Client, era: Era, split_capabilities: Document) -> bytes:
    """Return the capabilities that a backend of `era` is told of: the client's, less what cannot be carried."""
    if client.era is era:
        return client.capabilities
    return split_capabilities.without(*_INTERACTIVE).join()


def sessioned(call: Call, identity: bytes) -> bytes:
    """Write a call for a sessioned backend; its progress token is the request's id."""
    meta = call.meta
    if meta is None:
        return jsonrpc.request(identity, method_json(call.method), _params(call.params))
    if call.client.era is Era.STATELESS:
        meta = meta.without(*STATELESS_META)
    if call.progress_token is not None:
        meta = meta.with_member(META_PROGRESS, identity)
    params = (
        call.params.with_member(_META, meta.join()) if meta.members else call.params.without(_META)
    )
    return jsonrpc.request(identity, method_json(call.method), _params(params))


def _params(params: Document) -> bytes | None:
    return params.join() if params.members else None


def stateless(call: Call, identity: bytes, capabilities: bytes) -> bytes:
    """Write a call for a stateless backend; its progress token is the request's id."""
    client = call.client
    meta = call.meta or EMPTY
    if client.era is Era.STATELESS and call.progress_token is None:
        # Its `_meta` is that of our own hop, to the byte.
        return jsonrpc.request(identity, method_json(call.method), call.params.join())
    if client.era is Era.SESSIONED:
        meta = Document(
            (*meta.members, *stateless_meta(capabilities, client.info, client.log_level))
        )
    if call.progress_token is not None:
        meta = meta.with_member(META_PROGRESS, identity)
    params = call.params.with_member(_META, meta.join())
    return jsonrpc.request(identity, method_json(call.method), params.join())


_VERSION_MEMBER = (META_VERSION, quote(STATELESS_VERSION))


def stateless_meta(
    capabilities: bytes, info: bytes | None, log_level: str | None = None
) -> tuple[tuple[bytes, bytes], ...]:
    """Return the `_meta` members that each stateless request carries."""
    members = [_VERSION_MEMBER, (META_CAPABILITIES, capabilities)]
    if info is not None:
        members.append((META_CLIENT_INFO, info))
    if log_level is not None:
        members.append((META_LOG_LEVEL, quote(log_level)))
    return tuple(members)


def own_request(method: str, identity: bytes, params: Document, era: Era, info: bytes) -> bytes:
    """Write a request of our own, such as a list, for a backend of `era`."""
    if era is Era.STATELESS:
        meta = Document(stateless_meta(WIDEST_CAPABILITIES, info))
        params = params.with_member(_META, meta.join())
    return jsonrpc.request(identity, method_json(method), _params(params))


def subscription(uris: Iterable[str]) -> Document:
    """Write the params of a subscription to all changes of lists, and to updates of the resources `uris`."""
    wanted = b'"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true'
    if listed := b",".join(map(quote, sorted(uris))):
        wanted += b',"resourceSubscriptions":[' + listed + b"]"
    return Document(((b'"notifications"', b"{" + wanted + b"}"),))


# Some servers hide tools from a client that declares less.
WIDEST_CAPABILITIES = (
    b'{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}'
)
