"""The chart of the custom resources, by a real Helm on a real API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import PATH, install
from tests.support.cluster.helm import Helm, HelmRefused
from vmcp.crd.definitions import definitions

CHART = ROOT / "charts" / "vmcp-crds"
NAMES = {one["metadata"]["name"] for one in definitions()}


@pytest.fixture
def helm(cluster: Cluster, tmp_path: Path) -> Helm:
    return Helm(cluster, tmp_path)


def rendered(helm: Helm, *words: str) -> list[Any]:
    return sorted(helm.rendered(CHART, *words), key=lambda one: str(one["metadata"]["name"]))


def held(cluster: Cluster) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.admin.do("GET", PATH)["items"]}


def test_it_has_no_faults(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART)


def test_it_renders_the_definitions_and_keeps_them_unless_told_otherwise(helm: Helm) -> None:
    kept = rendered(helm)
    given_up = rendered(helm, "--set", "keep=false")

    assert given_up == [*definitions()]
    for one in kept:
        assert one["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert kept == [*definitions()]


def test_a_value_that_it_does_not_know_is_refused(helm: Helm) -> None:
    with pytest.raises(HelmRefused, match="kept"):
        helm("template", "crds", CHART, "--set", "kept=false")


def test_it_takes_over_what_is_there_and_leaves_it_when_it_goes(
    cluster: Cluster, helm: Helm, namespace: str
) -> None:
    install(cluster)

    helm("install", "crds", CHART, "-n", namespace, "--take-ownership", "--wait")
    again = helm("upgrade", "crds", CHART, "-n", namespace, "--take-ownership")
    helm("uninstall", "crds", "-n", namespace)

    assert "has been upgraded" in again
    assert held(cluster) >= NAMES
