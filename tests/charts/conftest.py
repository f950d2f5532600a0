"""The real Helm, and the chart that it renders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.charts.objects import Chart
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.helm import Helm


@pytest.fixture
def helm(cluster: Cluster, tmp_path: Path) -> Helm:
    return Helm(cluster, tmp_path)


@pytest.fixture
def chart(helm: Helm) -> Chart:
    return Chart(helm)
