"""The two places of objects that the same tests run on: a folder of manifests, and a namespace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster.admin import Object
from tests.support.cluster.chart import rights
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.resources import Resources
from tests.support.homes import Folder, FolderHome, Home


@pytest.fixture
def folder_home(tmp_path: Path) -> FolderHome:
    return FolderHome(Folder(tmp_path / "manifests"))


@pytest.fixture(scope="session")
def least(taught: Cluster) -> list[Object]:
    """What the chart lets its gateway do."""
    named = {"secretNames": ["weather-key", "other-key"], "configMapNames": ["weather-ca"]}
    server = {"virtualMCPServer": {"name": "gw"}, "allowAnonymous": True}
    return rights(taught, {**server, "rbac": named})


@pytest.fixture
def namespace_home(taught: Cluster, least: list[Object]) -> Resources:
    """A namespace whose account may do no more than that of the chart."""
    made = Resources(taught)
    taught.allow(made.namespace, made.account.name, least)
    return made


@pytest.fixture(params=["folder", pytest.param("namespace", marks=pytest.mark.cluster)])
def home(request: pytest.FixtureRequest) -> Home:
    """Each of the two."""
    found: Home = request.getfixturevalue(f"{request.param}_home")
    return found
