"""The load generator counts right answers and notices each kind of wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmarks.echo import Options, Site
from benchmarks.eras import ERAS
from benchmarks.http1 import EventStream, Reply, Request
from benchmarks.load import Plan, measure, quantile_ms
from tests.benchmarks.serving import serving

PLAN = Plan(
    mode="call",
    url="",
    era="stateless",
    connections=3,
    seconds=0.05,
    warm_seconds=0.01,
    tool="echo",
    size=0,
    pid=None,
    stats=None,
)

Respond = Callable[[Request], Reply | EventStream]


def echo() -> Respond:
    return Site(Options(tools=5, page_size=2, eras=ERAS, has_sessions=True)).respond


def spoilt(change: Callable[[Reply], Reply]) -> Respond:
    """An echo backend whose answers to calls are changed."""
    honest = echo()

    def respond(request: Request) -> Reply | EventStream:
        reply = honest(request)
        return change(reply) if b'"tools/call"' in request.body else reply

    return respond


def as_stream(reply: Reply) -> Reply:
    note = b'data: {"jsonrpc":"2.0","method":"notifications/message"}\r\n\r\n'
    answer = b"event: message\r\ndata: " + reply.body + b"\r\n\r\n"
    return Reply(200, note + answer, b"content-type: text/event-stream; charset=utf-8\r\n")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("size", [0, 100_000])
async def test_every_call_is_one_request(era: str, size: int) -> None:
    async with serving(echo()) as site:
        plan = replace(PLAN, url=f"{site}/mcp", era=era, size=size, stats=f"{site}/stats")
        found = await measure(plan)

    assert found["errors"] == 0
    assert found["calls"] > 0
    assert found["requests_per_call"] == 1.0


async def test_an_answer_may_come_as_an_event_stream() -> None:
    async with serving(spoilt(as_stream)) as site:
        found = await measure(replace(PLAN, url=f"{site}/mcp"))

    assert found["errors"] == 0
    assert found["calls"] > 0


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        pytest.param(
            lambda reply: reply._replace(body=reply.body.replace(b"-0", b"-1", 1)),
            "the text is another one",
            id="text",
        ),
        pytest.param(
            lambda reply: reply._replace(body=reply.body.replace(b'"id":', b'"id":9', 1)),
            "the id is another one, or there is no result",
            id="id",
        ),
        pytest.param(
            lambda reply: reply._replace(status=503), "HTTP 503 without a result", id="status"
        ),
        pytest.param(
            lambda reply: reply._replace(body=b"<html>"),
            "HTTP 200, the body is no JSON-RPC response",
            id="body",
        ),
        pytest.param(
            lambda _: Reply(200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":""}}'),
            "HTTP 200, JSON-RPC error -32603",
            id="error",
        ),
        pytest.param(
            lambda reply: reply._replace(body=reply.body.replace(b"false", b"true", 1)),
            "the tool says that it failed",
            id="isError",
        ),
    ],
)
async def test_a_wrong_answer_is_an_error(change: Callable[[Reply], Reply], complaint: str) -> None:
    async with serving(spoilt(change)) as site:
        found = await measure(replace(PLAN, url=f"{site}/mcp"))

    assert found["calls"] == 0
    assert found["error_kinds"].keys() == {complaint}


async def test_a_lost_connection_is_an_error() -> None:
    async with serving(spoilt(lambda _: Reply(200, b"", b"connection: close\r\n"))) as site:
        found = await measure(replace(PLAN, url=f"{site}/mcp", connections=1))

    assert "the connection was lost" in found["error_kinds"]


@pytest.mark.parametrize("era", ERAS)
async def test_lists_are_followed_to_the_last_page(era: str) -> None:
    async with serving(echo()) as site:
        found = await measure(replace(PLAN, url=f"{site}/mcp", era=era, mode="list"))

    assert found["tools"] == 5
    assert found["errors"] == 0


@pytest.mark.parametrize("era", ERAS)
async def test_first_requests_are_measured(era: str) -> None:
    async with serving(echo()) as site:
        found = await measure(replace(PLAN, url=f"{site}/mcp", era=era, mode="init"))

    assert found["calls"] > 0
    assert found["errors"] == 0


def test_quantiles_are_taken_from_the_sorted_samples() -> None:
    samples = [number / 1000 for number in range(100, 0, -1)]

    assert quantile_ms(samples, 0.5) == 51
    assert quantile_ms(samples, 0.99) == 100
    assert quantile_ms([], 0.5) is None
