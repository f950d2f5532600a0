"""What docs/kubernetes.md shows is taken by the API server and the chart, and does what the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cluster.admin import Object
from tests.support.cluster.chart import CHART, installed
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import install, path_of
from tests.support.cluster.helm import Helm

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kubernetes.md"


def blocks() -> Iterator[list[Any]]:
    """Yield the documents of each block of YAML."""
    for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL):
        yield [*yaml.safe_load_all(text)]


@pytest.fixture
def objects() -> list[Object]:
    return next(blocks())


@pytest.fixture
def values() -> Object:
    _, (found,) = blocks()
    assert isinstance(found, dict)
    return found


def test_its_objects_are_taken_as_they_are_written(
    cluster: Cluster, namespace: str, objects: list[Object]
) -> None:
    install(cluster)

    for one in objects:
        path = path_of(one["kind"], namespace)
        cluster.admin.do("POST", f"{path}?fieldValidation=Strict", one)

    assert [one["kind"] for one in objects] == [
        "MCPGroup",
        "VirtualMCPServer",
        "MCPServerEntry",
        "MCPExternalAuthConfig",
    ]


def test_its_values_allow_what_its_objects_refer_to(
    cluster: Cluster, namespace: str, values: Object
) -> None:
    install(cluster)

    account = installed(cluster, namespace, values)

    token = cluster.pki.token(account, seconds=600)
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    asked = {
        "named": f"{secrets}?fieldSelector=metadata.name=wiki",
        "all": secrets,
        "other": f"{secrets}/office-clients",
        "entries": path_of("MCPServerEntry", namespace),
    }
    told = {name: cluster.admin.ask("GET", path, token=token) for name, path in asked.items()}
    assert {name: each.status for name, each in told.items()} == {
        "named": 200,
        "all": 403,
        "other": 403,
        "entries": 200,
    }


def test_a_takeover_keeps_the_name_that_clients_know(
    cluster: Cluster, tmp_path: Path, values: Object
) -> None:
    helm = Helm(cluster, tmp_path)

    made = helm.rendered(CHART, values={**values, "fullnameOverride": "vmcp-office"})

    named = {one["kind"]: one["metadata"]["name"] for one in made}
    assert (named["Service"], named["ServiceAccount"]) == ("vmcp-office", "vmcp-office")
    (service,) = (one for one in made if one["kind"] == "Service")
    assert [port["port"] for port in service["spec"]["ports"]] == [4483]


def test_a_group_is_served_beside_another_gateway(
    cluster: Cluster, tmp_path: Path, values: Object
) -> None:
    helm = Helm(cluster, tmp_path)
    rest = {key: value for key, value in values.items() if key != "virtualMCPServer"}

    made = helm.rendered(CHART, "--set", "group=office", values=rest)

    (role,) = (one for one in made if one["kind"] == "Role")
    verbs = {verb for rule in role["rules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch"}
    assert "Lease" not in {one["kind"] for one in made}
