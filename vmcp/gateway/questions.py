"""What backends ask of clients: how it is put to a client of each era, and how its answers come back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import NamedTuple

from vmcp.gateway.parked import ParkedCalls, RunningCall
from vmcp.gateway.ports import Reply
from vmcp.gateway.seal import Seal, binding
from vmcp.model.document import Document
from vmcp.model.inventory import Era
from vmcp.model.keys import ObjectKey
from vmcp.model.view import below
from vmcp.protocol.call import Answer, Ask, Call, Done, Live, Request, Retry
from vmcp.protocol.declared import NOT_DECLARED, may_be_asked, opens_pages
from vmcp.protocol.document import (
    EMPTY,
    MalformedJson,
    is_object,
    quote,
    split,
    split_array,
    unquote,
)
from vmcp.protocol.failures import CapabilityMissing, InvalidParams
from vmcp.protocol.methods import INTERACTIVE

_STATE, _RESPONSES = b'"requestState"', b'"inputResponses"'
_NAME, _URI, _ARGUMENTS = b'"name"', b'"uri"', b'"arguments"'
_ELICITATION_ID = b'"elicitationId"'
_ELICIT = "elicitation/create"
# What a sealed state holds: the backend's own, the id of a parked call, or that the request is to be made anew.
_OWN, _PARKED, _ANEW = b"s", b"p", b"a"
_CANCELLED = b'{"action":"cancel"}'
_ID_BYTES = 16


class Resumed(NamedTuple):
    """The parked call that a request brings answers for; `asked` is what it still waits for."""

    call: RunningCall
    asked: Ask | None


class Questions:
    """Put what backends ask to stateless clients, in states that only the right caller can bring back."""

    def __init__(self, seal: Seal, parked: ParkedCalls) -> None:
        self._seal = seal
        self._parked = parked

    def resumed(self, call: Call, key: ObjectKey) -> Resumed | None:
        """Open the state that a request brings; the params are changed to what the backend must see.

        Return the parked call that it belongs to; raise InvalidParams for a state that is not this request's.
        """
        sealed = call.params.get(_STATE)
        if sealed is None or call.method not in INTERACTIVE or call.client.era is not Era.STATELESS:
            return None
        opened = self._seal.open(_text(sealed), _binding(call, key))
        kind, state = opened[:1], opened[1:]
        if kind == _PARKED:
            running = self._parked.find(state.decode())
            return Resumed(running, running.resume(call, _responses(call.params)))
        if kind == _OWN:
            call.params = call.params.with_member(_STATE, state)
        else:
            call.params = call.params.without(_STATE, _RESPONSES)
        return None

    def put(self, ask: Ask, call: Call, key: ObjectKey, running: RunningCall | None) -> Done:
        """Return what an Ask is to a stateless client: an `input_required` result."""
        if running is not None and isinstance(ask.resume, Live):
            state = _PARKED + running.id.encode()
            return Done(_input_required(ask.requests, self._seal.close(state, _binding(call, key))))
        result = ask.result or EMPTY
        if isinstance(ask.resume, Retry) and ask.resume.state is not None:
            state = _OWN + ask.resume.state
            result = result.with_member(_STATE, self._seal.close(state, _binding(call, key)))
        return Done(result.join())

    def visit(self, done: Done, call: Call, key: ObjectKey) -> Done:
        """Return what the error -32042 (pages to visit first) is to a stateless client.

        Raise CapabilityMissing where it cannot open pages, MalformedJson where the error names none.
        """
        if not opens_pages(call.client.capabilities):
            raise CapabilityMissing(
                "The client must be able to open URLs for this.",
                {"requiredCapabilities": {"elicitation": {"url": {}}}},
            )
        state = self._seal.close(_ANEW, _binding(call, key))
        return Done(_input_required(_pages(done), state))


def _binding(call: Call, key: ObjectKey) -> bytes:
    caller = call.client.caller
    name = call.params.get(_NAME) or call.params.get(_URI) or b""
    arguments = call.params.get(_ARGUMENTS) or b""
    view = below(call.client.view)
    parts = (caller.issuer, caller.subject, view, str(key), call.method)
    return binding(*(part.encode() for part in parts), name, arguments)


def _text(raw: bytes) -> str:
    try:
        return unquote(raw)
    except MalformedJson:
        raise InvalidParams("The requestState must be a text.") from None


def _responses(params: Document) -> Mapping[str, bytes]:
    raw = params.get(_RESPONSES)
    if raw is None or not is_object(raw):
        return {}
    return {unquote(key): value for key, value in split(raw).members}


def _input_required(requests: tuple[Request, ...], state: bytes) -> bytes:
    wanted = Document(tuple((quote(each.key), _request(each)) for each in requests))
    members = (
        (b'"resultType"', b'"input_required"'),
        (b'"inputRequests"', wanted.join()),
        (_STATE, state),
    )
    return Document(members).join()


def _request(request: Request) -> bytes:
    method = (b'"method"', quote(request.method))
    if request.params is None:
        return Document((method,)).join()
    params = split(request.params).without(_ELICITATION_ID)
    return Document((method, (b'"params"', params.join()))).join()


def _pages(done: Done) -> tuple[Request, ...]:
    """Return the requests of the error -32042; raise MalformedJson where it names none."""
    data = split(split(done.payload).get(b'"data"') or b"")
    pages = split_array(data.get(b'"elicitations"') or b"")
    if not pages:
        raise MalformedJson("the error names no page")
    return tuple(Request(f"page-{at}", _ELICIT, page) for at, page in enumerate(pages, 1))


# A client of the sessioned era is asked while its call goes on.


async def answered(ask: Ask, call: Call, reply: Reply) -> Done | None:
    """Ask a sessioned client what a stateless backend wants, and put its answers into the params.

    Return the error that ends the call where the client gives one that the backend cannot be told.
    """
    answers = await _answers(ask.requests, call, reply)
    responses: list[tuple[bytes, bytes]] = []
    for request, answer in zip(ask.requests, answers, strict=True):
        if answer.is_error and request.method != _ELICIT:
            return Done(answer.payload, is_error=True)
        responses.append((quote(request.key), _CANCELLED if answer.is_error else answer.payload))
    params = call.params.without(_STATE, _RESPONSES)
    if responses:
        params = params.with_member(_RESPONSES, Document(tuple(responses)).join())
    if isinstance(ask.resume, Retry) and ask.resume.state is not None:
        params = params.with_member(_STATE, ask.resume.state)
    call.params = params
    return None


async def _answers(requests: tuple[Request, ...], call: Call, reply: Reply) -> tuple[Answer, ...]:
    declared = call.client.capabilities
    if not all(may_be_asked(declared, each.method, each.params) for each in requests):
        return tuple(NOT_DECLARED for _ in requests)
    if not requests:
        return ()
    reply.deadline.pause()
    try:
        return await reply.ask(Ask(tuple(map(_live, requests)), Live()))
    finally:
        reply.deadline.resume()


def _live(request: Request) -> Request:
    """Give a page to visit the id that the sessioned era wants."""
    if request.method != _ELICIT or request.params is None:
        return request
    params = split(request.params)
    if params.get(b'"mode"') != b'"url"' or params.get(_ELICITATION_ID) is not None:
        return request
    made = params.with_member(_ELICITATION_ID, quote(secrets.token_urlsafe(_ID_BYTES)))
    return Request(request.key, request.method, made.join())
