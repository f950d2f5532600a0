"""The seam to OpenTelemetry: spans and metrics as OTLP over HTTP; imported only where telemetry is on.

Nothing of OpenTelemetry runs on the event loop: values of ours become its own in the thread that sends them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import requests
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags, TraceState
from opentelemetry.trace.status import Status, StatusCode

from vmcp.telemetry.metrics import Distribution, Reading
from vmcp.telemetry.metrics import Metric as Ours
from vmcp.telemetry.spans import Span

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 10.0
_SCOPE = InstrumentationScope("vmcp")
_KINDS = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT}
_CUMULATIVE = AggregationTemporality.CUMULATIVE
# The protocol takes a histogram without its least and its most value; the types do not.
_UNKNOWN: Any = None
# It would log a line for each batch, with the collector's URL; we tell of the first one that fails.
for _each in ("common.http", "proto.http.trace_exporter", "proto.http.metric_exporter"):
    logging.getLogger(f"opentelemetry.exporter.otlp.{_each}").disabled = True


@dataclass(frozen=True, slots=True)
class Target:
    """Where telemetry goes: the URL under which /v1/traces and /v1/metrics lie, and who we are there."""

    url: str
    headers: Mapping[str, str]
    ca_path: str | None
    resource: Mapping[str, str]


def _session(target: Target) -> requests.Session:
    """Return what speaks HTTP; where the config names certificates, no variable of the environment does."""
    session = requests.Session()
    if target.ca_path is not None:
        session.trust_env = False
        session.proxies.update(requests.utils.get_environ_proxies(target.url))
    return session


class SpanSender:
    """Send batches of spans; a collector that is lost is logged once."""

    def __init__(self, target: Target) -> None:
        self._exporter = OTLPSpanExporter(
            endpoint=f"{target.url}/v1/traces",
            certificate_file=target.ca_path,
            headers=dict(target.headers),
            timeout=_TIMEOUT_SECONDS,
            session=_session(target),
        )
        self._resource = Resource(dict(target.resource))
        self._news = _News("traces")

    def __call__(self, spans: Sequence[Span]) -> bool:
        """Send spans and tell whether they arrived."""
        made = [_readable(each, self._resource) for each in spans]
        return self._news.of(self._exporter.export(made) is SpanExportResult.SUCCESS)

    def close(self) -> None:
        """Try no more."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]


class MetricSender:
    """Send readings of metrics, as they are counted since the start."""

    def __init__(self, target: Target, began_ns: int) -> None:
        self._exporter = OTLPMetricExporter(
            endpoint=f"{target.url}/v1/metrics",
            certificate_file=target.ca_path,
            headers=dict(target.headers),
            timeout=_TIMEOUT_SECONDS,
            session=_session(target),
        )
        self._resource = Resource(dict(target.resource))
        self._began_ns = began_ns
        self._news = _News("metrics")

    def __call__(self, readings: Iterable[Reading], now_ns: int) -> bool:
        """Send readings and tell whether they arrived."""
        by_metric: dict[Ours, list[Reading]] = {}
        for reading in readings:
            by_metric.setdefault(reading.metric, []).append(reading)
        made = [
            _metric(metric, found, self._began_ns, now_ns) for metric, found in by_metric.items()
        ]
        scopes = [ScopeMetrics(_SCOPE, made, "")]
        told = MetricsData([ResourceMetrics(self._resource, scopes, "")])
        return self._news.of(self._exporter.export(told) is MetricExportResult.SUCCESS)

    def close(self) -> None:
        """Try no more."""
        self._exporter.shutdown()


class _News:
    """Log when the collector is lost, and when it is back."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._was_well = True

    def of(self, is_well: bool) -> bool:  # noqa: FBT001
        if is_well is not self._was_well:
            self._was_well = is_well
            if is_well:
                log.info("the telemetry collector takes what it is sent", extra={"of": self._what})
            else:
                log.warning("the telemetry collector cannot be reached", extra={"of": self._what})
        return is_well


def _readable(span: Span, resource: Resource) -> ReadableSpan:
    state = None if span.state is None else TraceState.from_header([span.state])
    context = SpanContext(
        int(span.trace, 16),
        int(span.span, 16),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
        trace_state=state,
    )
    parent = None
    if span.parent is not None:
        parent = SpanContext(
            int(span.trace, 16), int(span.parent, 16), is_remote=span.kind == "server"
        )
    return ReadableSpan(
        name=span.name,
        context=context,
        parent=parent,
        resource=resource,
        attributes=span.attributes,
        links=[Link(SpanContext(int(t, 16), int(s, 16), is_remote=True)) for t, s in span.links],
        kind=_KINDS[span.kind],
        status=Status(StatusCode.UNSET if span.error is None else StatusCode.ERROR),
        start_time=span.began_ns,
        end_time=span.ended_ns,
        instrumentation_scope=_SCOPE,
    )


def _metric(metric: Ours, readings: Iterable[Reading], began_ns: int, now_ns: int) -> Metric:
    points: Gauge | Sum | Histogram
    match metric.kind:
        case "gauge":
            points = Gauge(_numbers(readings, began_ns, now_ns))
        case "counter":
            points = Sum(_numbers(readings, began_ns, now_ns), _CUMULATIVE, is_monotonic=True)
        case "histogram":
            points = Histogram(_distributions(readings, began_ns, now_ns), _CUMULATIVE)
        case _:
            assert_never(metric.kind)
    unit = "s" if metric.name.endswith("_seconds") else ""
    return Metric(metric.name, metric.meaning, unit, points)


def _numbers(readings: Iterable[Reading], began_ns: int, now_ns: int) -> list[NumberDataPoint]:
    return [
        NumberDataPoint(_labels(reading), began_ns, now_ns, reading.value)
        for reading in readings
        if not isinstance(reading.value, Distribution)
    ]


def _distributions(
    readings: Iterable[Reading], began_ns: int, now_ns: int
) -> list[HistogramDataPoint]:
    return [
        HistogramDataPoint(
            attributes=_labels(reading),
            start_time_unix_nano=began_ns,
            time_unix_nano=now_ns,
            count=sum(reading.value.counts),
            sum=reading.value.total,
            bucket_counts=reading.value.counts,
            explicit_bounds=reading.metric.bounds,
            min=_UNKNOWN,
            max=_UNKNOWN,
        )
        for reading in readings
        if isinstance(reading.value, Distribution)
    ]


def _labels(reading: Reading) -> dict[str, str]:
    return dict(zip(reading.metric.labels, reading.labels, strict=True))
