"""Write the requests that go to a backend: its own names, our ids, everything else as the client sent it."""

from __future__ import annotations

from collections.abc import Iterable

from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Call
from vmcp.protocol.document import EMPTY, quote, quote_name
from vmcp.protocol.methods import (
    META_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_PROGRESS,
    META_VERSION,
    STATELESS_META,
    STATELESS_VERSION,
)
from vmcp.protocol.tasks import without_task, without_tasks

_META = b'"_meta"'


def sessioned(call: Call, identity: bytes) -> bytes:
    """Write a call for a sessioned backend; its progress token is the request's id."""
    params = _params(call, Era.SESSIONED)
    if call.meta is not None and not _is_its_own(call, Era.SESSIONED):
        params = _with_meta(params, _sessioned_meta(call, call.meta, identity))
    return jsonrpc.request(identity, quote_name(call.method), jsonrpc.params_json(params))


def _params(call: Call, era: Era) -> Document:
    """Return a call's params; no client can follow a task of the other era, so none is to be made."""
    is_crossed = call.client.era is not era and call.method == "tools/call"
    return without_task(call.params) if is_crossed else call.params


def _is_its_own(call: Call, era: Era) -> bool:
    """Tell whether a client's `_meta` goes on as it came."""
    return call.client.era is era and call.progress_token is None


def _sessioned_meta(call: Call, meta: Document, identity: bytes) -> Document:
    if call.client.era is Era.STATELESS:
        meta = meta.without(*STATELESS_META)
    return meta if call.progress_token is None else meta.with_member(META_PROGRESS, identity)


def _with_meta(params: Document, meta: Document) -> Document:
    return params.with_member(_META, meta.join()) if meta.members else params.without(_META)


def stateless(call: Call, identity: bytes) -> bytes:
    """Write a call for a stateless backend; its progress token is the request's id."""
    params = _params(call, Era.STATELESS)
    if not _is_its_own(call, Era.STATELESS):
        params = params.with_member(_META, _stateless_meta(call, identity).join())
    return jsonrpc.request(identity, quote_name(call.method), params.join())


def _stateless_meta(call: Call, identity: bytes) -> Document:
    client, meta = call.client, call.meta or EMPTY
    if client.era is Era.SESSIONED:
        # What a session's client writes under these keys does not speak for this hop.
        meta = meta.without(*STATELESS_META)
        declared = without_tasks(client.capabilities)
        for key, value in stateless_meta(declared, client.info, client.log_level):
            meta = meta.with_member(key, value)
    return meta if call.progress_token is None else meta.with_member(META_PROGRESS, identity)


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
    return jsonrpc.request(identity, quote_name(method), jsonrpc.params_json(params))


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
