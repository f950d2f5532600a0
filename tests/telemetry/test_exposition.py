"""The text of /metrics: what Prometheus and OpenMetrics read in it."""

from __future__ import annotations

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from vmcp.telemetry import metrics
from vmcp.telemetry.exposition import exposition
from vmcp.telemetry.metrics import ALL, CALL_BOUNDS, Distribution, Reading

READINGS = (
    Reading(metrics.SESSIONS, (), 3),
    Reading(metrics.CALLS, ("a", "tools/call", "ok"), 7),
    Reading(metrics.CALLS, ('quo"te\n', "tools/call", "failed"), 1),
    Reading(metrics.CALL_SECONDS, ("a", "tools/call"), Distribution((2, 1, *[0] * 13, 4), 500.0)),
)
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"


def test_prometheus_reads_what_was_told() -> None:
    body, media_type = exposition(READINGS, "text/plain")

    families = {each.name: each for each in prometheus(body.decode())}
    assert media_type.startswith("text/plain; version=0.0.4")
    assert families["vmcp_sessions"].samples[0].value == 3
    assert [(one.labels["backend"], one.value) for one in families["vmcp_calls"].samples] == [
        ("a", 7),
        ('quo"te\n', 1),
    ]


def test_openmetrics_is_written_for_those_who_take_it() -> None:
    body, media_type = exposition(READINGS, OPENMETRICS)

    families = {each.name for each in openmetrics(body.decode())}
    assert media_type.startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")
    assert {"vmcp_sessions", "vmcp_calls", "vmcp_call_duration_seconds"} <= families


def test_the_buckets_of_a_histogram_add_up() -> None:
    body, _ = exposition(READINGS, "")

    family = next(
        each for each in prometheus(body.decode()) if each.name == "vmcp_call_duration_seconds"
    )
    buckets = {
        one.labels["le"]: one.value for one in family.samples if one.name.endswith("_bucket")
    }
    rest = {one.name: one.value for one in family.samples if not one.name.endswith("_bucket")}
    assert len(buckets) == len(CALL_BOUNDS) + 1
    assert (buckets["0.001"], buckets["0.0025"], buckets["60.0"], buckets["+Inf"]) == (2, 3, 3, 7)
    assert rest == {"vmcp_call_duration_seconds_count": 7, "vmcp_call_duration_seconds_sum": 500}


def test_only_the_metrics_of_the_table_and_of_the_process_are_told() -> None:
    body, _ = exposition(READINGS, "")

    found = {each.name for each in prometheus(body.decode())}
    assert not [name for name in found if not name.startswith(("vmcp_", "process_"))]


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_names_tell_the_kind(metric: metrics.Metric) -> None:
    assert metric.name.startswith("vmcp_")
    assert metric.name.endswith("_total") is (metric.kind == "counter")
    assert bool(metric.bounds) is (metric.kind == "histogram")
    assert metric.meaning.endswith((".", ")."))
