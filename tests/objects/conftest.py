"""The two places of objects that the same tests run on: a folder of manifests, and a namespace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster.cluster import Cluster
from tests.support.cluster.resources import Resources
from tests.support.homes import Folder, FolderHome, Home


@pytest.fixture
def folder_home(tmp_path: Path) -> FolderHome:
    return FolderHome(Folder(tmp_path / "manifests"))


@pytest.fixture
def namespace_home(taught: Cluster) -> Resources:
    """A namespace whose account may read no more Secrets and ConfigMaps than these."""
    return Resources(taught, "weather-key", "other-key", "weather-ca")


@pytest.fixture(params=["folder", pytest.param("namespace", marks=pytest.mark.cluster)])
def home(request: pytest.FixtureRequest) -> Home:
    """Each of the two."""
    found: Home = request.getfixturevalue(f"{request.param}_home")
    return found
