"""Cursors: the key of the last thing on a page, so that they survive a rebuilt list and another replica."""

from __future__ import annotations

import base64
import binascii

from vmcp.model.document import Document
from vmcp.protocol.document import MalformedJson, unquote
from vmcp.protocol.failures import InvalidParams


def cursor(last: str) -> str:
    """Return the cursor of the page that begins after `last`."""
    return base64.urlsafe_b64encode(last.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def after(params: Document) -> str | None:
    """Return the key after which the asked page begins, None for the first; raise InvalidParams."""
    raw = params.get(b'"cursor"')
    if raw is None or raw == b"null":
        return None
    try:
        text = unquote(raw)
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode(
            "utf-8", "surrogatepass"
        )
    except (MalformedJson, UnicodeError, binascii.Error):
        raise InvalidParams("The cursor is none that this server gave out.") from None
