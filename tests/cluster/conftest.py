"""An account on the real API server, and kinds of its own to watch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.widgets import Widgets
from tests.kube.scenes import RealScene
from tests.support.cluster.cluster import Cluster


@pytest.fixture
def scene(cluster: Cluster, tmp_path: Path) -> RealScene:
    return RealScene(cluster, tmp_path)


@pytest.fixture
def widgets(cluster: Cluster) -> Widgets:
    """A kind that is not installed yet, under a group of the test's own."""
    return Widgets(cluster)
