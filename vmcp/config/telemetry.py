"""The section `telemetry`: traces and metrics for an OpenTelemetry collector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from vmcp.config.backends import SecretHeaderSettings
from vmcp.config.faults import Fault, fault, kind, shown
from vmcp.config.headers import value_complaint
from vmcp.config.references import BundlePath, hidden
from vmcp.config.section import Section
from vmcp.config.values import FilledText, Flag, Text, by_header
from vmcp.model.secret import Secret

_RATE_PATTERN = r"^(0(\.[0-9]+)?|1(\.0+)?)$"
_SCHEMES = ("http", "https")


def _endpoint(value: str) -> str:
    # The value is never shown: it may hold a token.
    allowed = "host and port such as collector:4318, or an http or https URL without a query"
    try:
        parts = urlsplit(value if "://" in value else f"//{value}")
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise fault("Is not an address.", found=kind(value), allowed=allowed) from None
    is_plain = value.isascii() and value.isprintable() and " " not in value
    is_bare = not parts.query and not parts.fragment and "@" not in parts.netloc
    if not (is_whole and is_plain and is_bare) or parts.scheme not in ("", *_SCHEMES):
        raise fault("Is not an address.", found=kind(value), allowed=allowed)
    return value.rstrip("/")


def _rate(value: object) -> float:
    allowed = "a share between 0 and 1, such as 0.05"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise fault("Is not a share.", found=kind(value), allowed=allowed)
    try:
        found = float(value)
    except ValueError:
        raise fault("Is not a share.", found=shown(value), allowed=allowed) from None
    if isnan(found) or not 0 <= found <= 1:
        raise fault("Is out of range.", found=shown(value), allowed=allowed)
    return found


Endpoint = Annotated[Text, AfterValidator(_endpoint)]
Rate = Annotated[
    float,
    PlainValidator(_rate),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": _RATE_PATTERN},
            ]
        }
    ),
]


class TelemetrySettings(Section):
    """Traces and metrics for an OpenTelemetry collector, by OTLP over HTTP; needs the extra `otel`."""

    later: ClassVar[frozenset[str]] = frozenset(
        {
            "enablePrometheusMetricsPath",
            "environmentVariables",
            "metricsOnTransportPort",
            "prometheusPort",
            "serviceVersion",
            "useLegacyAttributes",
        }
    )

    endpoint: Endpoint | None = Field(
        default=None,
        repr=False,
        description=(
            "The collector: `host:port` or a URL; `/v1/traces` and `/v1/metrics` are added to it."
        ),
    )
    insecure: Flag = Field(
        default=False, description="Whether the collector is spoken to over plain HTTP."
    )
    ca_cert_path: BundlePath | None = Field(
        default=None,
        description=(
            "The file of PEM certificates that the collector's is checked against, in place of the system's."
        ),
    )
    headers: Annotated[Mapping[str, Annotated[Secret, hidden(value_complaint)]], by_header] = Field(
        default={}, description="Headers of the requests to the collector, by their names."
    )
    headers_from_secret: tuple[SecretHeaderSettings, ...] = Field(
        default=(), description="Headers whose values are kept outside the file."
    )
    service_name: FilledText | None = Field(
        default=None,
        description="The name of this gateway in traces and metrics; its `name` if absent.",
    )
    custom_attributes: Mapping[str, Text] = Field(
        default={}, description="More attributes of the resource that this gateway is."
    )
    tracing_enabled: Flag = Field(default=False, description="Whether traces are sent.")
    sampling_rate: Rate = Field(
        default=0.05,
        description=(
            "The share of the traces that are recorded, of those that begin here; a client decides "
            "of its own."
        ),
    )
    metrics_enabled: Flag = Field(
        default=False, description="Whether the metrics of /metrics are sent too, once a minute."
    )

    @property
    def url(self) -> str | None:
        """The collector as a URL without a path of a signal, None where there is none."""
        if self.endpoint is None or "://" in self.endpoint:
            return self.endpoint
        return f"{'http' if self.insecure else 'https'}://{self.endpoint}"

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Refuse telemetry without a collector, and one that is spoken to in two ways."""
        wanted = [key for key in ("tracingEnabled", "metricsEnabled") if given.get(key) is True]
        endpoint = given.get("endpoint")
        if wanted and endpoint is None:
            yield Fault((wanted[0],), "Needs an endpoint to send to.")
        if not isinstance(endpoint, str) or "://" not in endpoint:
            return
        is_plain = endpoint.startswith("http://")
        if is_plain is not (given.get("insecure") is True):
            said = "is plain HTTP" if is_plain else "is HTTPS"
            allowed = "insecure: true" if is_plain else "no insecure, or an http URL"
            yield Fault(
                ("insecure",), f"Does not agree with the endpoint, which {said}.", allowed=allowed
            )
