"""The sections `audit` and `telemetry` of a gateway's config: what is told of its traffic."""

from __future__ import annotations

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.values import Flag, Positive, Text, TextMap, Texts, Whole


@spec
class RuntimeAudit(Spec):
    """A record of who called what."""

    enabled: Flag = Field(default=False, description="Keep the record.")
    component: Text | None = Field(
        default=None, description="The name under which the gateway stands in it."
    )
    event_types: Texts | None = Field(default=None, description="The only events to record.")
    exclude_event_types: Texts | None = Field(
        default=None, description="Events not to record; wins over `eventTypes`."
    )
    include_request_data: Flag = Field(default=False, description="Record what callers send.")
    include_response_data: Flag = Field(default=False, description="Record what they are answered.")
    detect_application_errors: Flag = Field(
        default=True, description="Tell errors that come within an answer."
    )
    max_data_size: Whole = Field(
        default=1024, description="How many bytes of what is sent or answered are recorded."
    )
    max_delegation_depth: Positive = Field(
        default=10, description="How many of those for whom a caller acts are recorded."
    )
    log_file: Text | None = Field(
        default=None, description="The file for the record; standard output if absent."
    )


@spec
class RuntimeTelemetry(Spec):
    """Where traces and metrics go."""

    endpoint: Text | None = Field(default=None, description="The OTLP endpoint.")
    insecure: Flag = Field(default=False, description="Send to it over http.")
    ca_cert_path: Text | None = Field(
        default=None, description="The file with the certificates that are trusted for it."
    )
    headers: TextMap | None = Field(default=None, description="Headers that it is sent.")
    service_name: Text | None = Field(
        default=None, description="The service.name in traces and metrics."
    )
    service_version: Text | None = Field(
        default=None, description="The service.version in traces and metrics."
    )
    custom_attributes: TextMap | None = Field(
        default=None, description="Attributes to add to all that is sent."
    )
    environment_variables: Texts | None = Field(
        default=None, description="Environment variables to add to traces."
    )
    tracing_enabled: Flag = Field(default=False, description="Send traces.")
    sampling_rate: Text = Field(default="0.05", description="Which part of them: 0 to 1.")
    metrics_enabled: Flag = Field(default=False, description="Send metrics.")
    enable_prometheus_metrics_path: Flag = Field(
        default=False, description="Serve metrics at /metrics."
    )
    metrics_on_transport_port: Flag | None = Field(
        default=None, description="Serve them on the port of MCP."
    )
    prometheus_port: Whole | None = Field(default=None, description="Serve them on this port.")
    use_legacy_attributes: Flag = Field(
        default=True, description="Use the older names of attributes as well."
    )
