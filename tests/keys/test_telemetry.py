"""Each key of `telemetry` changes what a collector is sent, or whether it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.journeys.pairs import STATELESS, client
from tests.net.certificates import authority, identity
from tests.support.backends import serving
from tests.support.clients import named
from tests.support.collector import Collector, collecting
from tests.support.gateways import config, gateway_of
from tests.support.sessioned_backend import SessionedFake
from vmcp.clock import SystemClock
from vmcp.gateway.exporting import Exports

ENVIRONMENT = {"VALUE": "of-the-variable"}
PATHS = {"tracingEnabled": "/v1/traces", "metricsEnabled": "/v1/metrics"}
ON = {"tracingEnabled": True, "samplingRate": 1}


async def sent(collector: Collector, **telemetry: Any) -> None:
    """Run a gateway that has something to tell to a collector, until it has told it."""
    fake = SessionedFake()
    plain = {} if collector.url.startswith("https:") else {"insecure": True}
    settings = {"endpoint": collector.url, **plain, **telemetry}
    async with (
        serving(fake),
        gateway_of(config(fake, telemetry=settings), environment=ENVIRONMENT) as served,
        client(STATELESS, served.url) as caller,
    ):
        exports = Exports(served.live.loaded.value, SystemClock())
        async with exports.of(served.gateway):
            await caller.ask("tools/call", named("echo"))


@pytest.mark.config_key(
    "telemetry.endpoint", "telemetry.tracingEnabled", "telemetry.metricsEnabled"
)
@pytest.mark.parametrize("key", ["tracingEnabled", "metricsEnabled"])
async def test_a_collector_is_sent_what_is_switched_on(key: str) -> None:
    with collecting() as collector:
        endpoint = f"{collector.url}/deeper"
        await sent(collector, **{"samplingRate": 1, "endpoint": endpoint, key: True})

    assert {path for path, _, _ in collector.requests} == {f"/deeper{PATHS[key]}"}


@pytest.mark.config_key("telemetry.samplingRate")
@pytest.mark.parametrize(("rate", "spans"), [(0, 0), (1.0, 2), ("1.0", 2)])
async def test_as_many_traces_are_recorded_as_are_wanted(rate: object, spans: int) -> None:
    with collecting() as collector:
        await sent(collector, tracingEnabled=True, samplingRate=rate)

    assert len(collector.spans()) == spans


@pytest.mark.config_key(
    "telemetry.headers.*",
    "telemetry.headersFromSecret[].headerName",
    "telemetry.headersFromSecret[].valueEnv",
    "telemetry.headersFromSecret[].valueFile",
)
async def test_the_collector_is_sent_the_headers_that_it_wants(tmp_path: Path) -> None:
    (tmp_path / "value").write_text("of-the-file")
    secret = [
        {"headerName": "X-Env", "valueEnv": "VALUE"},
        {"headerName": "X-File", "valueFile": str(tmp_path / "value")},
    ]
    with collecting() as collector:
        await sent(collector, **ON, headers={"X-Team": "tools"}, headersFromSecret=secret)

    headers = collector.requests[0][1]
    assert [headers[name] for name in ("x-team", "x-env", "x-file")] == [
        "tools",
        "of-the-variable",
        "of-the-file",
    ]


@pytest.mark.config_key("telemetry.serviceName", "telemetry.customAttributes.*")
async def test_the_gateway_is_called_as_it_is_wanted() -> None:
    with collecting() as collector:
        await sent(collector, **ON, serviceName="shop", customAttributes={"team": "tools"})

    resource = collector.resource()
    assert (resource["service.name"], resource["team"]) == ("shop", "tools")


@pytest.mark.config_key("telemetry.insecure")
@pytest.mark.parametrize(("insecure", "requests"), [(True, 1), (False, 0)])
async def test_a_collector_without_a_scheme_is_spoken_to_in_the_clear_where_that_is_said(
    *, insecure: bool, requests: int
) -> None:
    with collecting() as collector:
        endpoint = collector.url.removeprefix("http://")
        await sent(collector, **ON, endpoint=endpoint, insecure=insecure)

    assert len(collector.requests) == requests


@pytest.mark.config_key("telemetry.caCertPath")
@pytest.mark.parametrize("is_given", [True, False])
async def test_the_authority_of_a_collector_is_the_one_that_is_named(
    tmp_path: Path, *, is_given: bool
) -> None:
    root = authority("of-keys")
    (tmp_path / "ca.pem").write_text(root.pem)
    trust = {"caCertPath": str(tmp_path / "ca.pem")} if is_given else {}
    with collecting(identity("127.0.0.1", signer=root).server()) as collector:
        await sent(collector, **ON, **trust)

    assert len(collector.requests) == (1 if is_given else 0)
