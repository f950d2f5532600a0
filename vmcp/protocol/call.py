"""A Call and the Events that answer it: the shape in which both eras meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from vmcp.model.document import Document
from vmcp.model.identity import ANONYMOUS, Caller
from vmcp.model.inventory import Era
from vmcp.model.view import WHOLE, View
from vmcp.protocol.account import Account

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True, eq=False, weakref_slot=True)
class Client:
    """Who calls, as it declared itself: a client session, or one request of a client that has none.

    Compared by identity: backends keep their sessions by it. `capabilities` and `info` are raw JSON objects.
    `view` is the part of the whole that it uses. `lasting` is True for a session, which is released when it
    ends (`has_ended`); else the client ends with its one call.
    """

    era: Era
    version: str
    capabilities: bytes = b"{}"
    info: bytes | None = None
    caller: Caller = ANONYMOUS
    view: View = WHOLE
    lasting: bool = False
    log_level: str | None = None
    has_ended: bool = False


@dataclass(slots=True)
class Call:
    """One request of a client, ready to be routed.

    `params` are the members of the request's params as sent; `meta` those of `params._meta`, None if absent.
    `progress_token` is raw JSON. `headers` (lower case) are those that may travel on: trace context,
    `Mcp-Param-*` and what a backend's `passthrough` may name. `account` is what is noted of the request, if
    anything is.
    """

    client: Client
    method: str
    params: Document
    meta: Document | None = None
    progress_token: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    account: Account | None = None


class Note(NamedTuple):
    """A notification that belongs to a call: its method and raw params, None where it has none.

    A progress token is already the client's.
    """

    method: str
    params: bytes | None


@dataclass(frozen=True, slots=True)
class Live:
    """The backend waits on an open stream for the answers."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The backend's call has ended; answers go with a new call that carries `state` (raw JSON, or None)."""

    state: bytes | None


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that a backend wants of the client: elicitation, sampling or roots. `params` is raw, or None."""

    key: str
    method: str
    params: bytes | None


@dataclass(frozen=True, slots=True)
class Ask:
    """The backend wants something of the client before it can go on.

    `result` is the whole result as it came where `resume` is a Retry, so that nothing in it is lost.
    """

    requests: tuple[Request, ...]
    resume: Live | Retry
    result: Document | None = None


class Done(NamedTuple):
    """The raw result, or the raw error object, that ends a call."""

    payload: bytes
    is_error: bool = False


Event = Note | Ask | Done


class Answer(NamedTuple):
    """What the client said to one Request: a raw result, or a raw error object."""

    payload: bytes
    is_error: bool = False
