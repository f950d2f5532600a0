"""The checks that each stateless request passes, in the order of the specification of 2026-07-28."""

from __future__ import annotations

from collections.abc import Mapping

from vmcp.model.document import Document
from vmcp.protocol.document import MalformedJson, is_object, unquote
from vmcp.protocol.failures import HeaderMismatch, IncompleteMeta, UnsupportedVersion
from vmcp.protocol.headers import decode
from vmcp.protocol.methods import META_CAPABILITIES, META_VERSION, NAMED, STATELESS_VERSION


def check(headers: Mapping[str, str], method: str, params: Document, meta: Document | None) -> None:
    """Raise IncompleteMeta, HeaderMismatch or UnsupportedVersion where a request may not be served."""
    version = _version(meta)
    _check_headers(headers, method, params, version)
    _check_served(version)


def check_bare(meta: Document | None) -> None:
    """Raise IncompleteMeta or UnsupportedVersion where a request without headers may not be served."""
    _check_served(_version(meta))


def check_notification(headers: Mapping[str, str], method: str) -> None:
    """Raise HeaderMismatch or UnsupportedVersion where a notification may not be served."""
    version = headers.get("mcp-protocol-version")
    if version is None or headers.get("mcp-method") not in (None, method):
        raise HeaderMismatch("The headers MCP-Protocol-Version and Mcp-Method must fit the body.")
    _check_served(version)


def _check_served(version: str) -> None:
    if version != STATELESS_VERSION:
        raise UnsupportedVersion(
            "This protocol version is not served.",
            {"supported": [STATELESS_VERSION], "requested": version},
        )


def _version(meta: Document | None) -> str:
    raw = meta.get(META_VERSION) if meta is not None else None
    declared = meta.get(META_CAPABILITIES) if meta is not None else None
    if raw is None or declared is None or not is_object(declared):
        missing = META_VERSION if raw is None else META_CAPABILITIES
        raise IncompleteMeta(f"Each request needs {missing.decode()} in params._meta.")
    try:
        return unquote(raw)
    except MalformedJson:
        raise IncompleteMeta(f"The member {META_VERSION.decode()} must be a text.") from None


def _check_headers(headers: Mapping[str, str], method: str, params: Document, version: str) -> None:
    if headers.get("mcp-protocol-version") != version:
        raise HeaderMismatch(
            "The header MCP-Protocol-Version must equal the version in params._meta."
        )
    if headers.get("mcp-method") != method:
        raise HeaderMismatch("The header Mcp-Method must equal the method.")
    if (member := NAMED.get(method)) is None:
        return
    given, raw = headers.get("mcp-name"), params.get(member)
    if raw is None or raw[:1] != b'"':
        # The method itself says what it misses.
        return
    if given is None or decode(given.strip(" \t")) != unquote(raw):
        raise HeaderMismatch(f"The header Mcp-Name must equal params.{unquote(member)}.")
