"""The gateway's chart on the test cluster: installed by the real Helm, for processes that run as its pods would.

No pod ever runs there: a test starts `vmcp serve --kubernetes` itself, with a token of the account that it gets.

    account = installed(cluster, namespace, {"virtualMCPServer": {"name": "team"}, "allowAnonymous": True})
    token = cluster.pki.token(account, seconds=3600)
    kubeconfig = cluster.write_kubeconfig(folder / "kubeconfig", {"token": token}, namespace)
"""

from __future__ import annotations

from pathlib import Path

from tests.support.cluster.admin import Object
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.helm import Helm
from tests.support.cluster.pki import Account

CHART = Path(__file__).resolve().parents[3] / "charts" / "vmcp"
RELEASE = "gateway"


def installed(cluster: Cluster, namespace: str, values: Object) -> Account:
    """Install the chart, or change its values where it is installed; return its ServiceAccount.

    `values` are all that differ from those of the chart: what an earlier call gave does not stay.
    """
    helm = _helm(cluster)
    helm("upgrade", "--install", RELEASE, CHART, "--namespace", namespace, values=values)
    return account(cluster, namespace)


def rights(cluster: Cluster, values: Object) -> list[Object]:
    """Return the rules of the Role that the chart makes of values, without installing it."""
    (role,) = [
        each for each in _helm(cluster).rendered(CHART, values=values) if each["kind"] == "Role"
    ]
    rules: list[Object] = role["rules"]
    return rules


def _helm(cluster: Cluster) -> Helm:
    home = cluster.folder / "helm"
    home.mkdir(exist_ok=True)
    return Helm(cluster, home)


def account(cluster: Cluster, namespace: str) -> Account:
    """Return the ServiceAccount of the release in a namespace."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    selector = f"labelSelector=app.kubernetes.io/instance={RELEASE}"
    (found,) = cluster.admin.do("GET", f"{path}?{selector}")["items"]
    return Account(namespace, found["metadata"]["name"], found["metadata"]["uid"])
