"""The chart on a real API server: installed, changed and removed by a real Helm."""

from __future__ import annotations

from tests.support.cluster.chart import account, installed
from tests.support.cluster.cluster import Cluster

GATEWAY = {"virtualMCPServer": {"name": "team"}, "allowAnonymous": True}


def test_it_is_installed_and_changed(cluster: Cluster, namespace: str) -> None:
    first = installed(cluster, namespace, GATEWAY)
    second = installed(cluster, namespace, {**GATEWAY, "rbac": {"secretNames": ["a"]}})

    assert first == second == account(cluster, namespace)
