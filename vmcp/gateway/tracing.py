"""Spans of requests and of their calls to backends, named as OpenTelemetry's conventions for MCP have it.

No argument, result, URI or credential is in them.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from time import monotonic

from vmcp.clock import Clock
from vmcp.model.document import Document
from vmcp.protocol.account import About, Account, Leg, name_in
from vmcp.protocol.document import MalformedJson, unquote
from vmcp.protocol.methods import KNOWN
from vmcp.protocol.tracecontext import TraceContext
from vmcp.telemetry.spans import Attribute, Span

# Of a trace's id, the last 56 bits are random (W3C Trace Context, level 2).
_RANDOM_BITS = 56
_RANDOM_MASK = 2**_RANDOM_BITS - 1
_SPAN_MASK = 2**64 - 1
_LONGEST_ID = 64
_OTHER = "other"
_LEAST_BAD_STATUS = 400

Emit = Callable[[Span], None]


class Tracer:
    """Begin traces, or go on with those of clients; a share of those that begin here is recorded.

    A client's own decision whether its trace is recorded holds here as well.
    """

    def __init__(self, clock: Clock, share: float, emit: Emit) -> None:
        self._clock = clock
        self._bound = int(share * 2**_RANDOM_BITS)
        self._emit = emit

    def root(self) -> TraceContext | None:
        """Return the place at which a new trace begins, None where it is not to be recorded."""
        number = random.getrandbits(128)
        if number & _RANDOM_MASK >= self._bound:
            return None
        return TraceContext(f"{number:032x}", _new_span(), is_sampled=True)

    def begin(
        self, context: TraceContext, parent: TraceContext | None, beside: TraceContext | None
    ) -> RequestTrace:
        """Begin the span of a request; `beside` is another trace that brought it, which is linked."""
        return RequestTrace(self._clock, self._emit, context, parent, beside)


def unrecorded() -> str:
    """Return a traceparent by which the backend knows that this trace is not recorded."""
    number = random.getrandbits(192)
    return f"00-{number >> 64:032x}-{number & _SPAN_MASK or 1:016x}-00"


def below(parent: TraceContext) -> TraceContext:
    """Return a new place below another one."""
    return parent._replace(span=_new_span())


class RequestTrace:
    """The span of one request, and the place from which its legs go on (the port Trace)."""

    __slots__ = ("_began", "_began_ns", "_beside", "_clock", "_emit", "_parent", "context")

    def __init__(
        self,
        clock: Clock,
        emit: Emit,
        context: TraceContext,
        parent: TraceContext | None,
        beside: TraceContext | None,
    ) -> None:
        self.context = context
        self._clock = clock
        self._emit = emit
        self._parent = parent
        self._beside = beside
        self._began = monotonic()
        self._began_ns = _nanoseconds(clock)

    def leg(self, backend: str, method: str, params: Document) -> Leg:
        """Begin a call to a backend."""
        told = _of_method(method, name_in(method, params)) | {"vmcp.backend": backend}
        at = _nanoseconds(self._clock)
        return _Recorded(self._emit, self.context, below(self.context), told, at)

    def end(self, account: Account, about: About) -> None:
        """End the span of the request."""
        told = {
            **_of_method(account.method, account.name),
            **_given("network.transport", about.transport),
            **_given("client.address", about.address or None),
            **_given("jsonrpc.request.id", _id(account.identity)),
            **_given("mcp.protocol.version", account.version),
            **_given("mcp.session.id", about.session),
            **_given("vmcp.backend", account.backend),
            **_given("rpc.response.status_code", _text(account.code)),
        }
        parent = None if self._parent is None else self._parent.span
        links = () if self._beside is None else ((self._beside.trace, self._beside.span),)
        ended_ns = self._began_ns + int((monotonic() - self._began) * 1e9)
        self._emit(
            Span(
                name=_title(account.method, account.name),
                kind="server",
                trace=self.context.trace,
                span=self.context.span,
                parent=parent,
                state=self.context.state,
                began_ns=self._began_ns,
                ended_ns=ended_ns,
                attributes=told | _given("error.type", error_of(account)),
                error=error_of(account),
                links=links,
            )
        )


class _Recorded:
    """The span of a call to a backend."""

    __slots__ = ("_began", "_began_ns", "_emit", "_parent", "_told", "context")

    def __init__(
        self,
        emit: Emit,
        parent: TraceContext,
        context: TraceContext,
        told: Mapping[str, Attribute],
        began_ns: int,
    ) -> None:
        self.context = context
        self._emit = emit
        self._parent = parent
        self._told = told
        self._began_ns = began_ns
        self._began = monotonic()

    def end(self, code: int | None, error: str | None) -> None:
        """End the span."""
        method = str(self._told["mcp.method.name"])
        name = self._told.get("gen_ai.tool.name") or self._told.get("gen_ai.prompt.name")
        self._emit(
            Span(
                name=_title(method, None if name is None else str(name)),
                kind="client",
                trace=self.context.trace,
                span=self.context.span,
                parent=self._parent.span,
                state=self.context.state,
                began_ns=self._began_ns,
                ended_ns=self._began_ns + int((monotonic() - self._began) * 1e9),
                attributes={
                    **self._told,
                    **_given("rpc.response.status_code", _text(code)),
                    **_given("error.type", error),
                },
                error=error,
            )
        )


def error_of(account: Account) -> str | None:
    """Return of what kind the error is that ended a request, None where it went well."""
    if account.is_cancelled:
        return "cancelled"
    if account.reason is not None or account.code is not None:
        return account.reason or str(account.code)
    if account.is_tool_error:
        return "tool_error"
    return str(account.status) if account.status >= _LEAST_BAD_STATUS else None


def hashed(session: str) -> str:
    """Return by what a session is known in logs and traces: its id is what lets a client in."""
    return hashlib.sha256(session.encode()).hexdigest()[:16]


def _of_method(method: str, name: str | None) -> dict[str, Attribute]:
    told: dict[str, Attribute] = {"mcp.method.name": method if method in KNOWN else _OTHER}
    if method == "tools/call":
        told["gen_ai.operation.name"] = "execute_tool"
    if name is not None:
        key = "gen_ai.tool.name" if method == "tools/call" else "gen_ai.prompt.name"
        told[key] = name
    return told


def _title(method: str, name: str | None) -> str:
    known = method if method in KNOWN else _OTHER
    return known if name is None else f"{known} {name}"


def _given(key: str, value: Attribute | None) -> dict[str, Attribute]:
    return {} if value is None else {key: value}


def _text(code: int | None) -> str | None:
    return None if code is None else str(code)


def _id(raw: bytes | None) -> str | None:
    if raw is None:
        return None
    try:
        return unquote(raw)[:_LONGEST_ID] if raw[:1] == b'"' else raw[:_LONGEST_ID].decode()
    except MalformedJson:
        return None


def _new_span() -> str:
    # Zero is no id; of 2**64 numbers it is one.
    return f"{random.getrandbits(64) or 1:016x}"


def _nanoseconds(clock: Clock) -> int:
    return int(clock.now().timestamp() * 1e6) * 1000
