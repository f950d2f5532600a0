"""The text of /metrics: readings as Prometheus and OpenMetrics write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import assert_never

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from vmcp.telemetry.metrics import ALL, Distribution, Metric, Reading

_Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


def exposition(readings: Sequence[Reading], accept: str) -> tuple[bytes, str]:
    """Return a scrape's body and its media type, as the Accept header wants it."""
    # A registry of our own: whatever libraries put into the global one is no business of ours.
    registry = CollectorRegistry()
    registry.register(_Readings(readings))
    ProcessCollector(registry=registry)
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


class _Readings(Collector):
    """Hands the readings over, family by family in the order of the table."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        self._by_metric: dict[Metric, list[Reading]] = {}
        for reading in readings:
            self._by_metric.setdefault(reading.metric, []).append(reading)

    def describe(self) -> Iterator[_Family]:
        """Say nothing: all names are of one table, so that none stands twice."""
        yield from ()

    def collect(self) -> Iterator[_Family]:
        """Yield all families that have samples."""
        for metric in ALL:
            if metric in self._by_metric:
                yield _family(metric, self._by_metric[metric])


def _family(metric: Metric, readings: Iterable[Reading]) -> _Family:
    match metric.kind:
        case "counter":
            counters = CounterMetricFamily(metric.name, metric.meaning, labels=metric.labels)
            for _, labels, value in readings:
                counters.add_metric(labels, _number(value))
            return counters
        case "gauge":
            gauges = GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)
            for _, labels, value in readings:
                gauges.add_metric(labels, _number(value))
            return gauges
        case "histogram":
            bounds = [*map(floatToGoString, metric.bounds), "+Inf"]
            histograms = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
            for _, labels, value in readings:
                counts, total = _distribution(value)
                histograms.add_metric(
                    labels, list(zip(bounds, accumulate(counts), strict=True)), total
                )
            return histograms
        case _:
            assert_never(metric.kind)


def _number(value: float | Distribution) -> float:
    if isinstance(value, Distribution):
        raise TypeError("a histogram's value under another kind of metric")
    return value


def _distribution(value: float | Distribution) -> Distribution:
    if not isinstance(value, Distribution):
        raise TypeError("a number under a histogram")
    return value
