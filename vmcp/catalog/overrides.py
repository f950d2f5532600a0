"""Override parts of a tool's document; every byte that is not overridden stays."""

from __future__ import annotations

from collections.abc import Mapping

from vmcp.catalog.raw import members, quote
from vmcp.model.document import Document
from vmcp.model.rules import ToolOverride

_ANNOTATIONS = b'"annotations"'
_NULL = b"null"


def overridden(document: Document, override: ToolOverride) -> Document:
    """Return the document with its overrides, but for the name: `vmcp.catalog.naming` gives that.

    Raise UnreadableError if members of its annotations are to be overridden and it has no such.
    """
    if override.annotations:
        annotations = _merged(document.get(_ANNOTATIONS), override.annotations)
        document = document.with_member(_ANNOTATIONS, annotations)
    if override.description is not None:
        document = document.with_member(b'"description"', quote(override.description))
    return document


def _merged(raw: bytes | None, replaced: Mapping[str, bytes]) -> bytes:
    found = Document(() if raw is None or raw == _NULL else members(raw))
    for name in sorted(replaced):
        found = found.with_member(quote(name), replaced[name])
    return found.join()
