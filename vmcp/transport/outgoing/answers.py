"""Read what a backend sends back: single answers, streams of messages, and what they mean for a call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.call import Ask, Call, Client, Done, Note, Request, Retry
from vmcp.protocol.document import MalformedJson, split, split_array, unquote
from vmcp.protocol.failures import INTERNAL_ERROR, BackendFailed, Failure
from vmcp.protocol.loglevels import wants
from vmcp.protocol.results import is_plain
from vmcp.protocol.sse import EventTooLarge, Parser
from vmcp.transport.outgoing.speech import Refused

BODY_LIMIT = 16 * 2**20
PROGRESS = "notifications/progress"
LOGGED = "notifications/message"


def items(raw: bytes) -> tuple[bytes, ...] | None:
    """Return the messages of an array, which servers of 2025-03-26 may answer with; None where it is none."""
    if raw[:1] == b"{" or raw.lstrip()[:1] != b"[":
        return None
    try:
        return split_array(raw)
    except MalformedJson:
        return None


def message(raw: bytes, backend: str) -> jsonrpc.Message:
    """Read one message; raise BackendFailed with reason InvalidAnswer."""
    try:
        return jsonrpc.read_peer(raw)
    except Failure as failure:
        raise BackendFailed(backend, "InvalidAnswer", failure.message) from None


def response(raw: bytes, identity: bytes, backend: str) -> jsonrpc.Response:
    """Read the response to the request `identity`; an error without an id is taken as its answer."""
    for each in items(raw) or (raw,):
        found = message(each, backend)
        if isinstance(found, jsonrpc.Response) and is_for(found, identity):
            return found
    raise BackendFailed(backend, "InvalidAnswer", "the answer belongs to no request of ours.")


def is_for(found: jsonrpc.Response, identity: bytes) -> bool:
    """Tell whether a response answers the request `identity`."""
    return found.id == identity or (found.id is None and found.is_error)


def note(call: Call, notification: jsonrpc.Notification) -> Note | None:
    """Return the note for the client; None for progress and log messages that it did not ask for."""
    params = notification.params
    if notification.method == LOGGED and not _is_wanted(call.client, params):
        return None
    if notification.method == PROGRESS:
        if call.progress_token is None:
            return None
        params = params.with_member(b'"progressToken"', call.progress_token)
    return Note(notification.method, jsonrpc.params_json(params))


def _is_wanted(client: Client, params: Document) -> bool:
    # A request without a session says itself what it wants, and another one may stand for the call by now.
    return client.era is Era.STATELESS or wants(client, params.get(b'"level"'))


def end(found: jsonrpc.Response) -> Done:
    """Return the end of a call."""
    return Done(found.payload, is_error=found.is_error)


def result(found: jsonrpc.Response, backend: str) -> Document:
    """Return the members of a result of our own request; raise Refused or BackendFailed."""
    try:
        members = split(found.payload)
        if found.is_error:
            raise Refused(_code(members), unquote(members.get(b'"message"') or b'""'))
    except MalformedJson:
        raise BackendFailed(backend, "InvalidAnswer", "the result is no object.") from None
    return members


def code(found: jsonrpc.Response) -> int | None:
    """Return the code of an error response, None for a result."""
    if not found.is_error:
        return None
    try:
        return _code(split(found.payload))
    except MalformedJson:
        return INTERNAL_ERROR


def _code(members: Document) -> int:
    raw = members.get(b'"code"') or b""
    try:
        return int(raw)
    except ValueError:
        return INTERNAL_ERROR


def input_required(found: jsonrpc.Response) -> Ask | None:
    """Return the Ask that a stateless result is, None where it is a result for good."""
    if found.is_error or is_plain(found.payload, Era.STATELESS):
        return None
    if b'"input_required"' not in found.payload:
        return None
    members = split(found.payload)
    if members.get(b'"resultType"') != b'"input_required"':
        return None
    wanted = split(members.get(b'"inputRequests"') or b"{}")
    requests = tuple(_request(unquote(key), raw) for key, raw in wanted.members)
    return Ask(requests, Retry(members.get(b'"requestState"')), members)


def _request(key: str, raw: bytes) -> Request:
    inner = split(raw)
    return Request(key, unquote(inner.get(b'"method"') or b'""'), inner.get(b'"params"'))


@dataclass(slots=True)
class Progress:
    """How far a stream was read: the id of its last event, and after how many milliseconds to come back."""

    last_id: bytes | None = None
    retry_milliseconds: int | None = None


async def stream(
    chunks: AsyncIterator[bytes], backend: str, progress: Progress | None = None
) -> AsyncGenerator[jsonrpc.Message, None]:
    """Yield the messages of an event stream; events without data are skipped; raise BackendFailed."""
    parser = Parser(BODY_LIMIT)
    progress = progress or Progress()
    try:
        async for chunk in chunks:
            for event in parser.feed(chunk):
                if event.id is not None:
                    progress.last_id = event.id
                if event.data and event.type in (b"", b"message"):
                    for each in items(event.data) or (event.data,):
                        yield message(each, backend)
            if parser.retry is not None:
                progress.retry_milliseconds = parser.retry
    except EventTooLarge as error:
        raise BackendFailed(backend, "TooLarge", f"{error}.") from None
