"""How a call tells its backend where the trace goes on."""

from __future__ import annotations

import pytest

from tests.gateway.builders import backend, document
from vmcp.gateway.legs import continuing
from vmcp.model.backend import Backend, StdioEndpoint
from vmcp.model.inventory import Era
from vmcp.protocol.call import Call, Client
from vmcp.protocol.document import split
from vmcp.protocol.tracecontext import TraceContext

HERE = TraceContext("a" * 32, "b" * 16, is_sampled=True, state="v=1")
TOLD = {"traceparent": HERE.parent, "tracestate": "v=1"}
HTTP = backend("a")
STDIO = Backend(HTTP.key, "a", StdioEndpoint("server", (), (), None), 30.0)


def call(**meta: str) -> Call:
    params = {"name": "echo", **({"_meta": meta} if meta else {})}
    raw = document(params)
    inner = raw.get(b'"_meta"')
    client = Client(Era.SESSIONED, "2025-11-25")
    headers = {"traceparent": "old", "tracestate": "old=1", "x-other": "kept"}
    return Call(client, "tools/call", raw, None if inner is None else split(inner), None, headers)


def told_in_meta(made: Call) -> dict[str, str]:
    raw = made.params.get(b'"_meta"')
    assert (raw is None) is (made.meta is None)
    members = () if raw is None else split(raw).members
    return {key.decode().strip('"'): value.decode().strip('"') for key, value in members}


def test_over_http_the_headers_tell_and_the_body_stays_as_it_came() -> None:
    before = call(other="kept")

    made = continuing(before, HERE, HTTP)

    assert made.headers == {"x-other": "kept", **TOLD}
    assert made.params == before.params


def test_where_the_client_told_it_in_the_meta_it_is_told_there_as_well() -> None:
    made = continuing(call(traceparent="theirs", tracestate="theirs=1", other="kept"), HERE, HTTP)

    assert told_in_meta(made) == {"other": "kept", **TOLD}
    assert made.headers["traceparent"] == HERE.parent


@pytest.mark.parametrize("meta", [{}, {"other": "kept"}])
def test_over_stdio_the_meta_tells(meta: dict[str, str]) -> None:
    made = continuing(call(**meta), HERE, STDIO)

    assert told_in_meta(made) == {**meta, **TOLD}


def test_a_state_of_another_trace_does_not_go_on() -> None:
    made = continuing(call(traceparent="t", tracestate="old=1"), HERE._replace(state=None), HTTP)

    assert "tracestate" not in made.headers
    assert "tracestate" not in told_in_meta(made)
