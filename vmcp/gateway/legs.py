"""Calls to backends as parts of what is noted of a request: who was called, and what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from vmcp.gateway.deadline import CallCancelled
from vmcp.model.backend import Backend, StdioEndpoint
from vmcp.model.document import Document
from vmcp.protocol.account import Account, is_tool_error
from vmcp.protocol.call import Ask, Call, Done
from vmcp.protocol.document import EMPTY, quote
from vmcp.protocol.failures import BackendFailed
from vmcp.protocol.jsonrpc import error_code
from vmcp.protocol.tracecontext import (
    META_TRACEPARENT,
    META_TRACESTATE,
    TRACEPARENT,
    TRACESTATE,
    TraceContext,
)

_META = b'"_meta"'
_CANCELLED = "cancelled"

Carry = Callable[[Call], Awaitable[Done | Ask]]


async def noted(call: Call, account: Account, backend: Backend, carry: Carry) -> Done | Ask:
    """Carry a call to a backend and note of it what its request's account is to tell."""
    account.backend = backend.name
    leg = (
        None if account.trace is None else account.trace.leg(backend.name, call.method, call.params)
    )
    code: int | None = None
    error: str | None = _CANCELLED
    try:
        end = await carry(call if leg is None else continuing(call, leg.context, backend))
        code, error = _outcome(end, account)
    except BackendFailed as failure:
        code, error = failure.code, failure.reason
        account.reason = failure.reason
        raise
    except CallCancelled:
        account.is_cancelled = True
        raise
    finally:
        if leg is not None:
            leg.end(code, error)
    return end


def _outcome(end: Done | Ask, account: Account) -> tuple[int | None, str | None]:
    if isinstance(end, Ask):
        return None, None
    if end.is_error:
        code = error_code(end.payload)
        return code, str(code)
    account.is_tool_error = account.method == "tools/call" and is_tool_error(end.payload)
    return None, "tool_error" if account.is_tool_error else None


def continuing(call: Call, context: TraceContext, backend: Backend) -> Call:
    """Return a call that tells the backend where to continue the trace.

    In its headers always; in its `_meta` where the client had told it there, or where there are no headers.
    """
    headers = {**call.headers, TRACEPARENT: context.parent}
    headers.pop(TRACESTATE, None)
    if context.state is not None:
        headers[TRACESTATE] = context.state
    is_told = call.meta is not None and call.meta.get(META_TRACEPARENT) is not None
    params, meta = call.params, call.meta
    if is_told or isinstance(backend.endpoint, StdioEndpoint):
        meta = _told(meta or EMPTY, context)
        params = params.with_member(_META, meta.join())
    return replace(call, params=params, meta=meta, headers=headers)


def _told(meta: Document, context: TraceContext) -> Document:
    meta = meta.without(META_TRACESTATE).with_member(META_TRACEPARENT, quote(context.parent))
    if context.state is None:
        return meta
    return meta.with_member(META_TRACESTATE, quote(context.state))
