"""Bring the test cluster to all tests that ask for it: its programs are found or built before the first test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.kube.binaries.build import ensure
from tests.kube.binaries.places import found
from tests.support.cluster.cluster import Cluster, running
from tests.support.cluster.definitions import install

_missing = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    line = "cluster: asks for the test cluster by a fixture that it chooses while it runs"
    config.addinivalue_line("markers", line)


def _asks(item: pytest.Item) -> bool:
    named = "cluster" in getattr(item, "fixturenames", ())
    return named or item.get_closest_marker("cluster") is not None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what is missing, outside of the time that a test may take."""
    asking = [item for item in session.items if _asks(item)]
    if asking and not session.config.option.collectonly:
        with session.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            reason = ensure()
        if reason is not None:
            session.config.stash[_missing] = f"{len(asking)} tests, since {reason}"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say so where they did not run."""
    reason = config.stash.get(_missing, None)
    if reason is not None:
        words = f"There is no Kubernetes API server here; NOT RUN: {reason}"
        terminalreporter.write_line(words, red=True)


@pytest.fixture(scope="session")
def cluster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """One cluster for the whole run; a test that disturbs it leaves it running."""
    reason = pytestconfig.stash.get(_missing, None)
    if reason is not None:
        # Where the suite was asked for by its name, nothing less than a run will do.
        absent = pytest.fail if "VMCP_KUBE" in os.environ else pytest.skip  # noqa: TID251
        absent(f"There is no Kubernetes API server here: {reason}")
    with running(found(), tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="session")
def taught(cluster: Cluster) -> Cluster:
    """The cluster, which knows the kinds of the custom resources."""
    install(cluster)
    return cluster


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace of the test's own; it goes by itself later."""
    name = cluster.new_namespace()
    yield name
    cluster.admin.ask("DELETE", f"/api/v1/namespaces/{name}")
