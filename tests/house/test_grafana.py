"""The dashboard and the alerts ask for metrics that there are, by labels that they have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.house.reasons import ROOT
from vmcp.gateway.meter import OUTCOMES
from vmcp.model.health import Circuit, State
from vmcp.telemetry.metrics import ALL, OF_THE_PROCESS

FOLDER = ROOT / "examples" / "grafana"
DASHBOARD = json.loads((FOLDER / "dashboards" / "vmcp.json").read_text())
# What Prometheus adds of its own accord.
ADDED = {"job", "instance", "le"}
VALUES = {
    "vmcp_backend_state": {each.value for each in State},
    "vmcp_backend_circuit_state": {each.value for each in Circuit},
    "vmcp_calls_total": {*OUTCOMES},
}


def asked(value: Any) -> Iterator[str]:
    """Yield the queries in a dashboard or in rules."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("expr", "definition") and isinstance(inner, str):
                yield inner
            yield from asked(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from asked(inner)


QUERIES = sorted({*asked(DASHBOARD), *asked(yaml.safe_load((FOLDER / "alerts.yaml").read_text()))})


def series(query: str) -> Iterator[tuple[str, str]]:
    """Yield the metrics of a query, with what selects their series."""
    for name, selector in re.findall(r"\b((?:vmcp|process)_\w+)(?:\{([^}]*)\})?", query):
        yield re.sub(r"_(bucket|sum|count)$", "", name), selector


@pytest.mark.parametrize("query", QUERIES)
def test_every_metric_that_is_asked_for_is_in_the_table(query: str) -> None:
    known = {each.name: {*each.labels} for each in ALL} | {each: set() for each in OF_THE_PROCESS}

    for name, selector in series(query):
        assert name in known
        assert {*re.findall(r"(\w+)\s*[=!]", selector)} <= known[name] | ADDED
        for value in re.findall(r'(?:state|outcome)!?="(\w[\w-]*)"', selector):
            assert value in VALUES.get(name, {value})


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_grouped_by_labels_that_its_metrics_have(query: str) -> None:
    labels = {each.name: {*each.labels} for each in ALL}
    had = {label for name, _ in series(query) for label in labels.get(name, ())} | ADDED

    for group in re.findall(r"by \(([^)]*)\)", query):
        assert {each.strip() for each in group.split(",")} <= had


def test_every_metric_of_the_table_is_looked_at_somewhere() -> None:
    used = {name for query in QUERIES for name, _ in series(query)}

    assert {each.name for each in ALL} - used == {"vmcp_watched_resources"}


def test_the_dashboard_can_be_loaded() -> None:
    panels = DASHBOARD["panels"]
    numbers = [each["id"] for each in panels]

    assert DASHBOARD["uid"]
    assert len(numbers) == len(set(numbers))
    assert all(each["targets"] for each in panels if each["type"] != "row")
    assert all(each["gridPos"]["x"] + each["gridPos"]["w"] <= 24 for each in panels)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("**/*.yaml")), ids=lambda path: path.name)
def test_what_is_provisioned_is_yaml(path: Any) -> None:
    assert yaml.safe_load(path.read_text())


def test_prometheus_reads_the_rules_that_lie_beside_it() -> None:
    found = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())

    assert [(FOLDER / each).exists() for each in found["rule_files"]] == [True]
