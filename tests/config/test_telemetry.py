"""The section `telemetry`: where to, how much, and what does not go together."""

from __future__ import annotations

import pytest

from tests.config.refusals import BOTH, refused
from vmcp.config.parse import parse
from vmcp.config.telemetry import TelemetrySettings


def settings(keys: str) -> TelemetrySettings:
    return parse(f"{BOTH}telemetry: {{{keys}}}\n").telemetry


def test_nothing_is_sent_by_default() -> None:
    found = parse(BOTH).telemetry

    assert (found.tracing_enabled, found.metrics_enabled, found.url) == (False, False, None)
    assert found.sampling_rate == 0.05


@pytest.mark.parametrize(
    ("keys", "url"),
    [
        ("endpoint: 'collector:4318'", "https://collector:4318"),
        ("endpoint: 'collector:4318', insecure: true", "http://collector:4318"),
        ("endpoint: 'http://collector/otlp/', insecure: true", "http://collector/otlp"),
        ("endpoint: 'https://collector.test'", "https://collector.test"),
        ("endpoint: '[::1]:4318'", "https://[::1]:4318"),
    ],
)
def test_the_collector_is_named_by_host_and_port_or_by_a_url(keys: str, url: str) -> None:
    assert settings(keys).url == url


@pytest.mark.parametrize("rate", ["0.25", "'0.25'"])
def test_a_share_is_a_number_or_a_text(rate: str) -> None:
    assert settings(f"samplingRate: {rate}").sampling_rate == 0.25


def test_headers_are_secrets() -> None:
    found = settings("endpoint: 'c:1', headers: {Api-Key: hunter2}")

    assert found.headers["Api-Key"].reveal() == "hunter2"
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("keys", "place", "says"),
    [
        ("tracingEnabled: true", "telemetry.tracingEnabled", "Needs an endpoint"),
        ("metricsEnabled: true", "telemetry.metricsEnabled", "Needs an endpoint"),
        ("endpoint: 'http://c:1'", "telemetry.insecure", "is plain HTTP"),
        ("endpoint: 'https://c:1', insecure: true", "telemetry.insecure", "is HTTPS"),
        ("endpoint: 'http://c:1?token=hunter2', insecure: true", "telemetry.endpoint", "Is not"),
        ("endpoint: 'http://user:hunter2@c', insecure: true", "telemetry.endpoint", "Is not"),
        ("endpoint: 'grpc://c:1'", "telemetry.endpoint", "Is not an address"),
        ("endpoint: 'c:99999'", "telemetry.endpoint", "Is not an address"),
        ("endpoint: ''", "telemetry.endpoint", "Is not an address"),
        ("samplingRate: 2", "telemetry.samplingRate", "Is out of range"),
        ("samplingRate: nan", "telemetry.samplingRate", "Is out of range"),
        ("samplingRate: often", "telemetry.samplingRate", "Is not a share"),
        ("samplingRate: true", "telemetry.samplingRate", "Is not a share"),
        ("useLegacyAttributes: true", "telemetry.useLegacyAttributes", "not implemented"),
        ("prometheusPort: 9000", "telemetry.prometheusPort", "not implemented"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(keys: str, place: str, says: str) -> None:
    (error,) = refused(f"{BOTH}telemetry: {{{keys}}}\n")

    assert error.path == place
    assert says in error.message
    assert "hunter2" not in str(error)
