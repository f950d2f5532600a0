"""The two API servers that the same tests run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kube.scenes import FakeScene, RealScene, Scene
from tests.support.cluster.cluster import Cluster
from tests.support.kube_api import FakeApi, fake_api


@pytest.fixture
async def fake() -> AsyncIterator[FakeApi]:
    async with fake_api() as api:
        yield api


@pytest.fixture
def fake_scene(fake: FakeApi, tmp_path: Path) -> FakeScene:
    return FakeScene(fake, tmp_path)


@pytest.fixture
def real_scene(cluster: Cluster, tmp_path: Path) -> RealScene:
    return RealScene(cluster, tmp_path)


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.cluster)])
def scene(request: pytest.FixtureRequest) -> Scene:
    """Each of the two."""
    found: Scene = request.getfixturevalue(f"{request.param}_scene")
    return found
