"""The chart of the custom resources, by a real Helm on a real API server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import ROOT
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import PATH, install
from vmcp.crd.definitions import definitions

CHART = ROOT / "charts" / "vmcp-crds"
NAMES = {one["metadata"]["name"] for one in definitions()}


class Helm:
    """Helm with a home of its own."""

    def __init__(self, cluster: Cluster, home: Path) -> None:
        self._program = cluster.programs["helm"]
        self._env = {"HOME": str(home), "PATH": os.defpath, "KUBECONFIG": str(cluster.kubeconfig)}

    def __call__(self, *words: str) -> str:
        command = [self._program, *words]
        ended = subprocess.run(
            command, env=self._env, capture_output=True, text=True, timeout=90, check=True
        )
        return ended.stdout


@pytest.fixture
def helm(cluster: Cluster, tmp_path: Path) -> Helm:
    return Helm(cluster, tmp_path)


def rendered(text: str) -> list[Any]:
    found = [one for one in yaml.safe_load_all(text) if one is not None]
    return sorted(found, key=lambda one: str(one["metadata"]["name"]))


def held(cluster: Cluster) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.admin.do("GET", PATH)["items"]}


def test_it_has_no_faults(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


def test_it_renders_the_definitions_and_keeps_them_unless_told_otherwise(helm: Helm) -> None:
    kept = rendered(helm("template", "crds", str(CHART)))
    given_up = rendered(helm("template", "crds", str(CHART), "--set", "keep=false"))

    assert given_up == [*definitions()]
    for one in kept:
        assert one["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert kept == [*definitions()]


def test_a_value_that_it_does_not_know_is_refused(helm: Helm) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        helm("template", "crds", str(CHART), "--set", "kept=false")

    assert "kept" in refused.value.stderr


def test_it_takes_over_what_is_there_and_leaves_it_when_it_goes(
    cluster: Cluster, helm: Helm, namespace: str
) -> None:
    install(cluster)

    helm("install", "crds", str(CHART), "-n", namespace, "--take-ownership", "--wait")
    again = helm("upgrade", "crds", str(CHART), "-n", namespace, "--take-ownership")
    helm("uninstall", "crds", "-n", namespace)

    assert "has been upgraded" in again
    assert held(cluster) >= NAMES
