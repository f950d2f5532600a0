"""Keep the accounts of requests: what was asked, by whom, what came of it; told in a line and in a span."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from vmcp.gateway.accounts import Accounts
from vmcp.gateway.tracing import Tracer, below, error_of, hashed, unrecorded
from vmcp.model.document import Document
from vmcp.model.identity import ANONYMOUS
from vmcp.model.inventory import Era
from vmcp.protocol import jsonrpc
from vmcp.protocol.account import LONGEST_NAME, About, Account, Trace, name_in
from vmcp.protocol.document import MalformedJson, unquote
from vmcp.protocol.failures import Failure
from vmcp.protocol.methods import META_VERSION
from vmcp.protocol.tracecontext import (
    META_TRACEPARENT,
    META_TRACESTATE,
    TRACEPARENT,
    TRACESTATE,
    TraceContext,
    parse,
)
from vmcp.transport.incoming.asgi import Message, Send
from vmcp.transport.incoming.limits import Refused
from vmcp.transport.incoming.request import HttpRequest

# Its lines are asked for by a switch of their own, so the log level does not count.
log = logging.getLogger("vmcp.access")
log.setLevel(logging.INFO)

_SESSION = b"mcp-session-id"


def begin(http: HttpRequest) -> Account:
    """Begin the account of a request; what is sent as its answer is counted from now on."""
    account = http.account = Account(monotonic())
    http.send = _counted(http.send, account)
    return account


def _counted(send: Send, account: Account) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            account.status = message["status"]
            for name, value in message["headers"]:
                if name == _SESSION:
                    account.session = value.decode()
        else:
            account.sent_bytes += len(message.get("body", b""))
        await send(message)

    return sent


def traced(
    http: HttpRequest, tracer: Tracer, message: jsonrpc.Message, meta: Document | None
) -> Trace | None:
    """Begin the trace of a request, None where it is not recorded; the backend is told of that too."""
    if not isinstance(message, jsonrpc.Request):
        return None
    parent, beside = _traces(http, meta)
    if parent is None:
        if (root := tracer.root()) is not None:
            return tracer.begin(root, None, None)
        http.headers = {**http.headers, TRACEPARENT: unrecorded()}
    elif parent.is_sampled:
        return tracer.begin(below(parent), parent, beside)
    return None


@contextmanager
def noting(
    http: HttpRequest,
    accounts: Accounts,
    trace: Trace | None,
    message: jsonrpc.Message,
    meta: Document | None,
    era: Era,
) -> Iterator[None]:
    """Note what a message asks for; one that came with others, or not by HTTP, has an account of its own."""
    is_own = http.account is None
    account = http.account or begin(http)
    account.trace = trace
    _read(account, http, message, meta, era)
    try:
        yield
    except Failure as failure:
        account.code = failure.code
        raise
    except Refused as refused:
        account.status = refused.status
        raise
    finally:
        if is_own:
            http.account = None
            close(http, account, accounts)


def _read(
    account: Account,
    http: HttpRequest,
    message: jsonrpc.Message,
    meta: Document | None,
    era: Era,
) -> None:
    account.era = era.value
    account.version = http.headers.get("mcp-protocol-version") or _text(meta, META_VERSION)
    if isinstance(message, jsonrpc.Response):
        return
    account.method = message.method[:LONGEST_NAME]
    account.name = name_in(message.method, message.params)
    if isinstance(message, jsonrpc.Request):
        account.identity = message.id


def _traces(
    http: HttpRequest, meta: Document | None
) -> tuple[TraceContext | None, TraceContext | None]:
    """Return the trace that a message belongs to, and another one that its HTTP request belongs to."""
    ambient = parse(http.headers.get(TRACEPARENT), http.headers.get(TRACESTATE))
    own = parse(_text(meta, META_TRACEPARENT), _text(meta, META_TRACESTATE))
    if own is None:
        return ambient, None
    return own, None if ambient is None or ambient.trace == own.trace else ambient


def _text(meta: Document | None, key: bytes) -> str | None:
    raw = None if meta is None else meta.get(key)
    try:
        return None if raw is None else unquote(raw)[:LONGEST_NAME]
    except MalformedJson:
        return None


def close(http: HttpRequest, account: Account, accounts: Accounts) -> None:
    """Tell of a request that has ended."""
    session = account.session or http.headers.get("mcp-session-id")
    known = None if session is None else hashed(session)
    if account.trace is not None:
        transport = None if http.is_bare else "tcp"
        account.trace.end(account, About(transport, http.arrival.address, known))
    if accounts.is_logged:
        fields = _fields(http, account, known)
        log.info("request", extra={name: one for name, one in fields.items() if one is not None})


def _fields(
    http: HttpRequest, account: Account, session: str | None
) -> dict[str, str | int | float | None]:
    """Return what a line tells; no URI, argument or credential is in it."""
    announced = http.headers.get("content-length", "")
    return {
        "request_id": http.id,
        "peer": http.arrival.address or None,
        "caller": None if http.caller == ANONYMOUS else http.caller.subject,
        "http_method": None if http.is_bare else http.method,
        "status": account.status or None,
        "era": account.era,
        "method": account.method or None,
        "tool": account.name,
        "backend": account.backend,
        "outcome": _outcome(account),
        "reason": error_of(account),
        "milliseconds": round((monotonic() - account.began) * 1000, 2),
        "session": session,
        "received_bytes": int(announced) if announced.isdecimal() else None,
        "sent_bytes": account.sent_bytes,
    }


def _outcome(account: Account) -> str:
    if account.is_cancelled:
        return "cancelled"
    if account.reason is not None:
        return "failed"
    return "ok" if error_of(account) in (None, "tool_error") else "error"
