"""What a client declared itself able to answer."""

from __future__ import annotations

from vmcp.model.document import Document
from vmcp.protocol.call import Answer
from vmcp.protocol.document import MalformedJson, is_object, split
from vmcp.protocol.failures import METHOD_NOT_FOUND, InvalidParams

# It is kept as long as a session, or a call that waits for its client: icons fit in, a flood does not.
MOST_SAID_BYTES = 32 * 2**10

NOT_DECLARED = Answer(
    b'{"code":%d,"message":"The client did not declare that it can be asked this."}'
    % METHOD_NOT_FOUND,
    is_error=True,
)
_ELICIT = "elicitation/create"
_CAPABILITY = {
    _ELICIT: b'"elicitation"',
    "sampling/createMessage": b'"sampling"',
    "roots/list": b'"roots"',
}
_URL, _FORM = b'"url"', b'"form"'


def check_size(capabilities: bytes, info: bytes | None) -> None:
    """Raise InvalidParams where a client says more of itself than is kept."""
    if len(capabilities) + len(info or b"") > MOST_SAID_BYTES:
        raise InvalidParams(
            f"The client's capabilities and clientInfo may have at most {MOST_SAID_BYTES} bytes."
        )


def may_be_asked(capabilities: bytes, method: str, params: bytes | None) -> bool:
    """Tell whether a client with these capabilities (raw JSON) can answer a request of a server."""
    declared = _members(capabilities).get(_CAPABILITY.get(method, b""))
    if declared is None or not is_object(declared):
        return False
    if method != _ELICIT:
        return True
    modes = _members(declared)
    if _members(params).get(b'"mode"') == _URL:
        return _has(modes, _URL)
    # A client that names no mode fills in forms.
    return _has(modes, _FORM) or not _has(modes, _URL)


def opens_pages(capabilities: bytes) -> bool:
    """Tell whether a client with these capabilities (raw JSON) can open URLs."""
    return _has(_members(_members(capabilities).get(b'"elicitation"')), _URL)


def _has(modes: Document, mode: bytes) -> bool:
    found = modes.get(mode)
    return found is not None and is_object(found)


def _members(raw: bytes | None) -> Document:
    try:
        return split(raw) if raw is not None and is_object(raw) else Document(())
    except MalformedJson:
        return Document(())
