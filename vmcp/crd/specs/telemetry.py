"""MCPTelemetryConfig: where traces and metrics go."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.conditions import ConfigStatus
from vmcp.crd.specs.references import ConfigMapKeyRef, SecretKeyRef
from vmcp.crd.specs.values import FilledText, Flag, Text, TextMap, keyed_by


@spec
class SensitiveHeader(Spec):
    """A header whose value is secret."""

    name: FilledText = Field(description="The name of the header.")
    secret_key_ref: SecretKeyRef = Field(description="The Secret that holds its value.")


@spec
class Tracing(Spec):
    """Traces."""

    enabled: Flag = Field(default=False, description="Send traces.")
    sampling_rate: Annotated[Text, Field(pattern=r"^(0(\.[0-9]+)?|1(\.0+)?)$")] = Field(
        default="0.05", description="Which part of them: 0 to 1."
    )


@spec
class MetricsSwitch(Spec):
    """Metrics."""

    enabled: Flag = Field(default=False, description="Send metrics.")


def _names_each_header_once(telemetry: OpenTelemetry) -> bool:
    secret = {header.name for header in telemetry.sensitive_headers or ()}
    return not secret & set(telemetry.headers or ())


@spec
class OpenTelemetry(Spec):
    """The OTLP endpoint, and what it is sent."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.headers) || !has(self.sensitiveHeaders)"
            " || self.sensitiveHeaders.all(header, !(header.name in self.headers))",
            "A header cannot stand in headers and in sensitiveHeaders.",
            _names_each_header_once,
            ("sensitiveHeaders",),
        ),
    )

    enabled: Flag = Field(default=False, description="Send traces and metrics.")
    endpoint: Text | None = Field(default=None, description="The OTLP endpoint.")
    insecure: Flag = Field(default=False, description="Send to it over http.")
    ca_bundle_ref: ConfigMapKeyRef | None = Field(
        default=None, description="The certificates that the endpoint's own is checked against."
    )
    headers: TextMap | None = Field(
        default=None, description="Headers that it is sent. Everybody may see the values."
    )
    sensitive_headers: Annotated[tuple[SensitiveHeader, ...], keyed_by("name")] | None = Field(
        default=None, description="Headers whose values come from Secrets."
    )
    resource_attributes: TextMap | None = Field(
        default=None, description="Attributes of the sender in all that is sent."
    )
    tracing: Tracing | None = Field(default=None, description="Traces.")
    metrics: MetricsSwitch | None = Field(default=None, description="Metrics.")
    use_legacy_attributes: Flag = Field(
        default=True, description="Use the older names of attributes as well."
    )


@spec
class Prometheus(Spec):
    """Metrics for Prometheus."""

    enabled: Flag = Field(default=False, description="Serve metrics at /metrics.")


@spec
class MCPTelemetryConfigSpec(Spec):
    """Where traces and metrics go."""

    open_telemetry: OpenTelemetry | None = Field(
        default=None, description="The OTLP endpoint, and what it is sent."
    )
    prometheus: Prometheus | None = Field(default=None, description="Metrics for Prometheus.")


@spec
class MCPTelemetryConfigStatus(ConfigStatus):
    """Whether the settings are valid, and who uses them."""
