"""Traces: the client's goes on through the gateway to the backend, and a collector is told of both sides."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.journeys.pairs import BACKENDS, SESSIONED, STATELESS, client, in_both_fronts
from tests.support.authority import certificate, ec_key, plain
from tests.support.backends import Fake, serving
from tests.support.clients import Client, named
from tests.support.collector import Collector, attributes, collecting
from tests.support.gateways import Served, config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from tests.support.shelf import Invocation, Json, text
from tests.support.waiting import until
from vmcp.clock import SystemClock
from vmcp.gateway.exporting import Exports

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"
SERVER, CLIENT = 2, 3
ERROR = 2

at_both_backs = pytest.mark.parametrize("back", [SESSIONED, STATELESS])


@dataclass
class Traced:
    """A gateway that sends its traces, with a client in front and a fake behind."""

    served: Served
    caller: Client
    fake: Fake
    collector: Collector
    stack: AsyncExitStack

    async def spans(self, kind: int | None = None) -> list[Any]:
        """End what sends, so that all has been sent, and return the spans."""
        await self.stack.aclose()
        return self.collector.spans(kind)


@asynccontextmanager
async def traced(
    front: str = STATELESS, back: str = SESSIONED, rate: float = 1.0, **tools: Any
) -> AsyncIterator[Traced]:
    fake = BACKENDS[back](**tools)
    with collecting() as collector:
        settings = {
            "endpoint": collector.url,
            "insecure": True,
            "tracingEnabled": True,
            "samplingRate": rate,
            "customAttributes": {"team": "tools"},
        }
        async with (
            serving(fake),
            gateway_of(config(fake, telemetry=settings)) as served,
            client(front, served.url) as caller,
            AsyncExitStack() as stack,
        ):
            exports = Exports(served.live.loaded.value, SystemClock())
            await stack.enter_async_context(exports.of(served.gateway))
            yield Traced(served, caller, fake, collector, stack)


def called(fake: Fake) -> Any:
    """Return the request by which the tool was called at the backend."""
    return next(one for one in fake.heard.all if one.method == "tools/call")


@in_both_fronts
@at_both_backs
async def test_a_trace_goes_on_from_the_client_through_us_to_the_backend(
    front: str, back: str
) -> None:
    async with traced(front, back) as one:
        params = named("echo")
        answer = await one.caller.request(
            "tools/call", params, traceparent=SAMPLED, tracestate="a=1"
        )
        await answer.end()
        spans = await one.spans()

    (server,) = [each for each in spans if each.kind == SERVER and each.name == "tools/call echo"]
    (leg,) = [each for each in spans if each.kind == CLIENT]
    heard = called(one.fake)
    assert server.trace_id.hex() == leg.trace_id.hex() == TRACE
    assert server.parent_span_id.hex() == SPAN
    assert leg.parent_span_id == server.span_id
    assert heard.headers["traceparent"] == f"00-{TRACE}-{leg.span_id.hex()}-01"
    assert heard.headers["tracestate"] == "a=1"
    assert server.start_time_unix_nano <= leg.start_time_unix_nano
    assert leg.end_time_unix_nano <= server.end_time_unix_nano


async def test_what_a_span_tells_follows_the_conventions() -> None:
    async with traced(SESSIONED) as one:
        await one.caller.ask("tools/call", named("echo"))
        spans = await one.spans()
        resource = one.collector.resource()

    server = next(each for each in spans if each.kind == SERVER)
    told = attributes(server)
    session = told.pop("mcp.session.id")
    assert one.caller.session not in repr(spans)
    assert len(session) == 16
    assert told == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "network.transport": "tcp",
        "client.address": "127.0.0.1",
        "jsonrpc.request.id": "1",
        "mcp.protocol.version": "2025-11-25",
        "vmcp.backend": "a",
    }
    assert attributes(next(each for each in spans if each.kind == CLIENT)) == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "vmcp.backend": "a",
    }
    assert resource["service.name"] == "vmcp"
    assert resource["team"] == "tools"


@in_both_fronts
async def test_the_trace_in_the_meta_of_a_request_wins_and_is_written_there(front: str) -> None:
    other = f"00-{'a' * 32}-{'b' * 16}-01"
    async with traced(front, STATELESS) as one:
        params = named("echo", traceparent=SAMPLED, tracestate="a=1")
        await (await one.caller.request("tools/call", params, traceparent=other)).end()
        spans = await one.spans()

    (leg,) = [each for each in spans if each.kind == CLIENT]
    server = next(each for each in spans if each.span_id == leg.parent_span_id)
    meta = called(one.fake).params["_meta"]
    assert server.parent_span_id.hex() == SPAN
    assert [each.trace_id.hex() for each in server.links] == ["a" * 32]
    assert meta["traceparent"] == f"00-{TRACE}-{leg.span_id.hex()}-01"
    assert meta["tracestate"] == "a=1"


@pytest.mark.parametrize("rate", [0.0, 1.0])
async def test_a_client_that_does_not_record_is_followed_and_its_context_goes_on(
    rate: float,
) -> None:
    async with traced(rate=rate) as one:
        answer = await one.caller.request("tools/call", named("echo"), traceparent=UNSAMPLED)
        await answer.end()
        spans = await one.spans()

    assert spans == []
    assert called(one.fake).headers["traceparent"] == UNSAMPLED


async def test_a_trace_that_begins_here_and_is_not_recorded_says_so_to_the_backend() -> None:
    async with traced(rate=0.0) as one:
        await one.caller.ask("tools/call", named("echo"))
        spans = await one.spans()

    assert spans == []
    assert called(one.fake).headers["traceparent"].endswith("-00")


async def test_about_the_share_of_traces_is_recorded() -> None:
    async with traced(rate=0.5) as one:
        for _ in range(200):
            await one.caller.ask("tools/call", named("echo"))
        spans = await one.spans(SERVER)

    assert 60 <= len(spans) <= 140


async def test_errors_are_told_by_their_kind_and_not_by_their_words() -> None:
    async def fails(_: Invocation) -> Json:
        return {**text("hunter2"), "isError": True}

    async with traced(fails=fails) as one:
        await one.caller.ask("tools/call", named("fails"))
        await one.caller.refused("tools/call", named("unknown"))
        await one.fake.stop()
        failed = await one.caller.refused("tools/call", named("fails"))
        spans = await one.spans()

    by_kind = {
        kind: [attributes(each).get("error.type") for each in spans if each.kind == kind]
        for kind in (SERVER, CLIENT)
    }
    reason = failed["data"]["reason"]
    assert by_kind == {SERVER: ["tool_error", "-32602", reason], CLIENT: ["tool_error", reason]}
    assert {each.status.code for each in spans} == {ERROR}
    assert "hunter2" not in repr(spans)


async def test_without_tracing_the_trace_of_a_client_passes_untouched() -> None:
    fake = SessionedFake()
    async with (
        serving(fake),
        gateway_of(config(fake)) as served,
        client(STATELESS, served.url) as caller,
    ):
        params = named("echo", traceparent="anything")
        await (await caller.request("tools/call", params, traceparent=SAMPLED)).end()

    heard = called(fake)
    assert heard.headers["traceparent"] == SAMPLED
    assert heard.params["_meta"]["traceparent"] == "anything"


async def test_a_dead_collector_slows_no_call_and_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with traced() as one:
        one.collector.status = 500
        for _ in range(20):
            await one.caller.ask("tools/call", named("echo"))
        spans = one.served.gateway.accounts.spans
        assert spans is not None
        await until(lambda: spans.lost == 40)
        began = monotonic()
        await one.stack.aclose()

    assert monotonic() - began < 8
    told = [each.message for each in caplog.records if each.levelno >= logging.WARNING]
    assert told.count("the telemetry collector cannot be reached") == 1
    assert not [each for each in caplog.records if "opentelemetry" in each.name]


async def test_metrics_are_sent_as_they_are_on_the_operations_port() -> None:
    fake = SessionedFake()
    with collecting() as collector:
        settings = {
            "endpoint": collector.url.removeprefix("http://"),
            "insecure": True,
            "metricsEnabled": True,
            "headers": {"X-Team": "tools"},
        }
        async with (
            serving(fake),
            gateway_of(config(fake, telemetry=settings)) as served,
            client(STATELESS, served.url) as caller,
        ):
            exports = Exports(served.live.loaded.value, SystemClock())
            async with exports.of(served.gateway):
                await caller.ask("tools/call", named("echo"))
            found = collector.metrics()

    (calls,) = [
        point
        for point in found["vmcp_calls_total"].sum.data_points
        if attributes(point)["outcome"] == "ok"
    ]
    (took,) = found["vmcp_call_duration_seconds"].histogram.data_points
    assert calls.as_double == 1 or calls.as_int == 1
    assert (took.count, sum(took.bucket_counts)) == (1, 1)
    assert found["vmcp_ready"].gauge.data_points[0].as_int == 1
    assert collector.requests[0][1]["x-team"] == "tools"


async def test_a_call_that_is_cancelled_ends_its_span() -> None:
    begun = asyncio.Event()

    async def hangs(_: Invocation) -> Json:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with traced(hangs=hangs) as one:
        calling = one.caller.call("hangs")
        await begun.wait()
        calling.cancel()
        one.caller.leave()
        await until(lambda: not one.served.gateway.pool.members.copy().popitem()[1].calls)
        spans = await one.spans(CLIENT)

    assert [attributes(each)["error.type"] for each in spans] == ["cancelled"]
    json.dumps(attributes(spans[0]))


async def test_headers_from_secrets_and_the_name_of_the_service_reach_a_collector_over_tls(
    tmp_path: Path,
) -> None:
    key = ec_key("collector")
    pem = certificate("collector", key)
    (tmp_path / "cert.pem").write_text(pem)
    (tmp_path / "key.pem").write_text(plain(key))
    (tmp_path / "token").write_text("hunter2\n")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with collecting(tls) as collector:
        token = {"headerName": "Api-Key", "valueFile": str(tmp_path / "token")}
        settings = {
            "endpoint": collector.url,
            "tracingEnabled": True,
            "samplingRate": 1,
            "caCertPath": str(tmp_path / "cert.pem"),
            "headersFromSecret": [token],
            "serviceName": "front",
        }
        fake = SessionedFake()
        async with (
            serving(fake),
            gateway_of(config(fake, telemetry=settings)) as served,
            client(STATELESS, served.url) as caller,
        ):
            exports = Exports(served.live.loaded.value, SystemClock())
            async with exports.of(served.gateway):
                await caller.ask("tools/call", named("echo"))

        assert len(collector.spans()) == 2
        assert collector.requests[0][1]["api-key"] == "hunter2"
        assert collector.resource()["service.name"] == "front"
        assert "hunter2" not in repr(exports.__dict__)
