"""What a stateless backend says of itself, whichever way it was asked."""

from __future__ import annotations

from vmcp.model.inventory import Era, Peer
from vmcp.protocol import jsonrpc
from vmcp.protocol.document import MalformedJson, split, split_array, unquote
from vmcp.protocol.failures import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
    BackendFailed,
)
from vmcp.protocol.methods import META_SERVER_INFO, STATELESS_VERSION
from vmcp.transport.outgoing import answers
from vmcp.transport.outgoing.speech import EraContradicted, Refused


def is_welcome(refused: jsonrpc.Response) -> bool:
    """Tell whether a server refuses a version, and lists the very one that it was asked in."""
    if answers.code(refused) != UNSUPPORTED_VERSION:
        return False
    try:
        told = split(split(refused.payload).get(b'"data"') or b"{}")
        versions = split_array(told.get(b'"supported"') or b"[]")
        return STATELESS_VERSION in map(unquote, versions)
    except MalformedJson:
        return False


def peer_of(found: jsonrpc.Response, backend: str) -> Peer:
    """Read the answer to server/discover; raise EraContradicted where it is none of a stateless server."""
    try:
        result = answers.result(found, backend)
    except Refused as refused:
        if refused.code in (HEADER_MISMATCH, MISSING_CAPABILITY):
            raise BackendFailed(
                backend, "InvalidAnswer", f"it refused server/discover with code {refused.code}."
            ) from None
        raise EraContradicted(f"server/discover was refused with code {refused.code}") from None
    try:
        versions = [
            unquote(item) for item in split_array(result.get(b'"supportedVersions"') or b"[]")
        ]
        if STATELESS_VERSION not in versions:
            raise EraContradicted("it does not list the stateless revision")
        meta = split(result.get(b'"_meta"') or b"{}")
        instructions = result.get(b'"instructions"')
        return Peer(
            Era.STATELESS,
            STATELESS_VERSION,
            split(result.get(b'"capabilities"') or b"{}"),
            meta.get(META_SERVER_INFO) or b"{}",
            unquote(instructions)
            if instructions is not None and instructions[:1] == b'"'
            else None,
        )
    except MalformedJson:
        raise EraContradicted("its answer to server/discover is malformed") from None


def honoured(acknowledgement: jsonrpc.Notification, asked: frozenset[str]) -> frozenset[str]:
    """Return for which of the resources asked for a subscription tells updates; all where it does not say."""
    try:
        subset = acknowledgement.params.get(b'"notifications"')
        if subset is None:
            return asked
        listed = split(subset).get(b'"resourceSubscriptions"') or b"[]"
        return asked & {unquote(item) for item in split_array(listed)}
    except MalformedJson:
        return asked
