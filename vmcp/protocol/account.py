"""What is noted of one request while it is served: for the access log, and for traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vmcp.model.document import Document
from vmcp.protocol.document import MalformedJson, unquote
from vmcp.protocol.jsonrpc import error_code
from vmcp.protocol.tracecontext import TraceContext

# Of a name that a client made up, this much says enough.
LONGEST_NAME = 128
# Where a tool says that it failed stands near the ends of its result; large ones are not searched.
_LARGE = 64 * 2**10
# URIs are no names: what stands in them may be anybody's.
_NAMING = frozenset(("tools/call", "prompts/get"))


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a request beside its account: the client, and how it came (None where not by HTTP)."""

    transport: str | None
    address: str
    session: str | None


class Leg(Protocol):
    """One call to a backend as a part of a request's trace."""

    @property
    def context(self) -> TraceContext:
        """Where the backend continues the trace."""
        ...

    def end(self, code: int | None, error: str | None) -> None:
        """End it, with the JSON-RPC code and the kind of what went wrong, if something did."""
        ...


class Trace(Protocol):
    """The trace of one request."""

    def end(self, account: Account, about: About) -> None:
        """End the span of the request, with what else is known of it."""
        ...

    def leg(self, backend: str, method: str, params: Document) -> Leg:
        """Begin a call to a backend, with the names that the backend knows."""
        ...


@dataclass(slots=True)
class Account:
    """Nobody keeps one where neither the access log nor tracing is on.

    `name` is the tool or the prompt as the client calls it; `code` the JSON-RPC code of an error, `reason` why a
    backend failed.
    """

    began: float
    method: str = ""
    name: str | None = None
    identity: bytes | None = None
    era: str | None = None
    version: str | None = None
    session: str | None = None
    backend: str | None = None
    code: int | None = None
    reason: str | None = None
    is_cancelled: bool = False
    is_tool_error: bool = False
    status: int = 0
    sent_bytes: int = 0
    trace: Trace | None = None

    def ended(self, payload: bytes, *, is_error: bool) -> None:
        """Note the end of a call: a raw result or error object."""
        if is_error:
            self.code = error_code(payload)


def name_in(method: str, params: Document) -> str | None:
    """Return the name of the tool or prompt that a request is about, cut short; None for others."""
    raw = params.get(b'"name"') if method in _NAMING else None
    try:
        return None if raw is None else unquote(raw)[:LONGEST_NAME]
    except MalformedJson:
        return None


def is_tool_error(payload: bytes) -> bool:
    """Tell whether a raw result says that its tool failed, as far as that is seen cheaply."""
    return len(payload) <= _LARGE and (
        b'"isError":true' in payload or b'"isError": true' in payload
    )
