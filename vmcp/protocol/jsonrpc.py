"""JSON-RPC envelopes: read without touching what they carry, written without formatting it anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from vmcp.model.document import Document
from vmcp.protocol.document import EMPTY, MalformedJson, duplicates, quote, split, unquote
from vmcp.protocol.failures import InvalidRequest, Unparsable


class Request(NamedTuple):
    """A request: `id` is raw JSON, `params` the members as sent (empty if absent)."""

    id: bytes
    method: str
    params: Document


class Notification(NamedTuple):
    """A notification: `params` are the members as sent (empty if absent)."""

    method: str
    params: Document


class Response(NamedTuple):
    """A response: `id` is raw JSON (None if the peer could not tell it), `payload` the result or the error."""

    id: bytes | None
    payload: bytes
    is_error: bool


Message = Request | Notification | Response
Members = Mapping[str, bytes]

_NAMES = ("jsonrpc", "id", "method", "params", "result", "error")
_ABSENT = msgspec.Raw(b"")

# A second one of these in params would let us and the backend read two different requests.
_UNIQUE_PARAMS = frozenset(
    (b'"name"', b'"uri"', b'"_meta"', b'"ref"', b'"taskId"', b'"requestState"')
)
_methods: dict[bytes, str] = {}
_MOST_METHODS = 256
_LONGEST_METHOD = 128
# It is carried about in answers, event ids and streams; what is longer identifies nothing.
_LONGEST_ID = 1024


class _Envelope(msgspec.Struct, gc=False):
    """The members of an envelope, to be found at the speed of C."""

    jsonrpc: msgspec.Raw = _ABSENT
    id: msgspec.Raw = _ABSENT
    method: msgspec.Raw = _ABSENT
    params: msgspec.Raw = _ABSENT
    result: msgspec.Raw = _ABSENT
    error: msgspec.Raw = _ABSENT


_envelope = msgspec.json.Decoder(_Envelope)


def read(body: bytes) -> Message:
    """Read one message of a client; raise Unparsable or InvalidRequest."""
    _check_encoding(body)
    members = _found(body)
    # The lengths add up only where there is no second member of a name, and none that we do not know.
    if members is None or len(body) != 1 + sum(
        [len(name) + 4 + len(raw) for name, raw in members.items()]
    ):
        members = _checked(body)
    if members.get("jsonrpc") != b'"2.0"':
        raise InvalidRequest('The member "jsonrpc" must be "2.0".')
    return _message(members, strict=True)


def read_peer(body: bytes) -> Message:
    """Read one message of a backend, forgiving what does no harm; raise as `read` does."""
    _check_encoding(body)
    members = _found(body)
    if members is None:
        try:
            members = _named(split(body))
        except MalformedJson as malformed:
            raise Unparsable(f"The message is no JSON object: {malformed}.") from None
    return _message(members, strict=False)


def identity(body: bytes) -> bytes | None:
    """Return the id of a request that was refused, None where it cannot be told."""
    try:
        envelope = split(body)
    except MalformedJson:
        return None
    ids = [value for key, value in envelope.members if key == b'"id"']
    is_request = envelope.get(b'"method"') is not None
    return ids[0] if is_request and len(ids) == 1 and _is_id(ids[0]) else None


def _check_encoding(body: bytes) -> None:
    # The values stay raw, so nothing that reads them later would find it.
    if body.isascii():
        return
    try:
        body.decode()
    except UnicodeDecodeError:
        raise Unparsable("The message is not UTF-8.") from None


def _found(body: bytes) -> Members | None:
    """Return the members of a well-formed envelope; None where a closer look is needed."""
    try:
        found = _envelope.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return {name: bytes(raw) for name in _NAMES if (raw := getattr(found, name)) is not _ABSENT}


def _checked(body: bytes) -> Members:
    try:
        envelope = split(body)
    except MalformedJson as malformed:
        if body.lstrip()[:1] == b"[":
            raise InvalidRequest(
                "Arrays of messages are not served: send one message a request."
            ) from None
        raise Unparsable(f"The body is no JSON object: {malformed}.") from None
    if duplicates(envelope):
        raise InvalidRequest("The envelope has a member twice.")
    return _named(envelope)


def _named(envelope: Document) -> Members:
    return {name: raw for name in _NAMES if (raw := envelope.get(quote(name))) is not None}


def _message(members: Members, *, strict: bool) -> Message:
    method, identity = members.get("method"), members.get("id")
    if method is None:
        return _response(members, identity)
    name = _method(method)
    params = _params(members.get("params"), strict=strict)
    if identity is None:
        return Notification(name, params)
    if not _is_id(identity):
        raise InvalidRequest(
            f'The member "id" must be a string or a number, of at most {_LONGEST_ID} bytes.'
        )
    return Request(identity, name, params)


def _response(members: Members, identity: bytes | None) -> Response:
    known = identity if identity is not None and _is_id(identity) else None
    if (error := members.get("error")) is not None and error != b"null":
        return Response(known, error, is_error=True)
    if (result := members.get("result")) is not None:
        return Response(known, result, is_error=False)
    raise InvalidRequest('The message has neither "method" nor "result" nor "error".')


def _method(raw: bytes) -> str:
    known = _methods.get(raw)
    if known is None:
        try:
            known = unquote(raw)
        except MalformedJson:
            raise InvalidRequest('The member "method" must be a string.') from None
        if len(_methods) < _MOST_METHODS and len(raw) <= _LONGEST_METHOD:
            _methods[raw] = known
    return known


def _params(raw: bytes | None, *, strict: bool) -> Document:
    if raw is None or raw == b"null":
        return EMPTY
    try:
        params = split(raw)
    except MalformedJson:
        raise InvalidRequest('The member "params" must be an object.') from None
    if strict and duplicates(params) & _UNIQUE_PARAMS:
        raise InvalidRequest("The params have a member twice that says where the request goes.")
    return params


def _is_id(raw: bytes) -> bool:
    if len(raw) > _LONGEST_ID:
        return False
    return raw[:1] == b'"' or raw[:1].isdigit() or raw[:1] == b"-"


def params_json(params: Document) -> bytes | None:
    """Return params as raw JSON, None where a message has none."""
    return None if params is EMPTY else params.join()


def request(identity: bytes, method: bytes, params: bytes | None) -> bytes:
    """Write a request; `method` is raw JSON."""
    if params is None:
        return b'{"jsonrpc":"2.0","id":' + identity + b',"method":' + method + b"}"
    return (
        b'{"jsonrpc":"2.0","id":'
        + identity
        + b',"method":'
        + method
        + b',"params":'
        + params
        + b"}"
    )


def notification(method: bytes, params: bytes | None) -> bytes:
    """Write a notification; `method` is raw JSON."""
    tail = b"}" if params is None else b',"params":' + params + b"}"
    return b'{"jsonrpc":"2.0","method":' + method + tail


def response(identity: bytes | None, payload: bytes, *, is_error: bool) -> bytes:
    """Write a response; the id is left out where it is unknown (the schemas know no null id)."""
    kind = b'"error":' if is_error else b'"result":'
    if identity is None:
        return b"".join((b'{"jsonrpc":"2.0",', kind, payload, b"}"))
    # Joined at once: a large payload is copied once.
    return b"".join((b'{"jsonrpc":"2.0","id":', identity, b",", kind, payload, b"}"))


def error_code(error: bytes) -> int | None:
    """Return the code of a raw error object, None where it has none."""
    try:
        return int(split(error).get(b'"code"') or b"")
    except ValueError:
        return None
