"""The chart on a real API server: accepted whole, installed, changed and removed by a real Helm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.charts.monitors import install as install_monitors
from tests.charts.objects import CASES, DYNAMIC, FULL, GROUP, STATIC, Chart
from tests.support.cluster.admin import Object
from tests.support.cluster.chart import CHART, RELEASE, account, installed
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import install, path_of
from tests.support.cluster.helm import Helm, HelmRefused

PATHS = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "ServiceMonitor": "/apis/monitoring.coreos.com/v1/namespaces/{}/servicemonitors",
    **{kind: path_of(kind, "{}") for kind in ("MCPGroup", "VirtualMCPServer")},
}
every_case = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module", autouse=True)
def definitions(cluster: Cluster) -> None:
    """Custom resources are known, ours and those of Prometheus' operator."""
    install(cluster)
    install_monitors(cluster)


@pytest.fixture
def restricted(cluster: Cluster) -> Iterator[str]:
    """A namespace that takes no pods but those of the strictest standard."""
    name = cluster.new_namespace()
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    path = f"/api/v1/namespaces/{name}"
    cluster.admin.merge(path, {"metadata": {"labels": labels}})
    yield name
    cluster.admin.ask("DELETE", path)


def present(cluster: Cluster, namespace: str) -> set[str]:
    """Return the kinds of which the release has an object."""
    label = f"?labelSelector=app.kubernetes.io/instance={RELEASE}"
    return {
        kind
        for kind, path in PATHS.items()
        if cluster.admin.do("GET", path.format(namespace) + label)["items"]
    }


def test_it_has_no_faults(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART)
    for values in CASES.values():
        assert "0 chart(s) failed" in helm("lint", "--strict", CHART, values=values)


def test_it_can_be_packed(helm: Helm, tmp_path: Path) -> None:
    helm("package", CHART, "--destination", tmp_path)

    (packed,) = tmp_path.glob("vmcp-*.tgz")
    assert helm.rendered(packed, values=FULL) == helm.rendered(CHART, values=FULL)


@every_case
def test_the_server_knows_every_field(
    cluster: Cluster, chart: Chart, namespace: str, name: str
) -> None:
    for one in chart(CASES[name]).all:
        one["metadata"]["namespace"] = namespace
        path = PATHS[one["kind"]].format(namespace)

        cluster.admin.do("POST", f"{path}?dryRun=All&fieldValidation=Strict", one)


@every_case
def test_its_pods_meet_the_strictest_standard(
    cluster: Cluster, chart: Chart, restricted: str, name: str
) -> None:
    path = f"/api/v1/namespaces/{restricted}/pods?dryRun=All&fieldValidation=Strict"
    pod: Object = {"metadata": {"name": "one"}, "spec": chart(CASES[name]).pod}

    cluster.admin.do("POST", path, pod)
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    refused = cluster.admin.ask("POST", path, pod)

    assert refused.status == 403


@every_case
def test_it_is_installed_upgraded_and_removed(
    cluster: Cluster, helm: Helm, chart: Chart, namespace: str, name: str
) -> None:
    kinds = chart(CASES[name]).kinds

    first = installed(cluster, namespace, CASES[name])
    assert present(cluster, namespace) == kinds
    again = installed(cluster, namespace, CASES[name])
    assert present(cluster, namespace) == kinds
    helm("uninstall", RELEASE, "-n", namespace)

    assert first == again
    assert present(cluster, namespace) == set()


def test_what_another_mode_does_not_need_goes(cluster: Cluster, namespace: str) -> None:
    installed(cluster, namespace, DYNAMIC)
    assert present(cluster, namespace) >= {"Role", "RoleBinding", "Lease"}

    installed(cluster, namespace, STATIC)
    assert present(cluster, namespace).isdisjoint({"Role", "RoleBinding", "Lease"})

    installed(cluster, namespace, GROUP)
    assert present(cluster, namespace) >= {"Role", "RoleBinding", "MCPGroup"}


def test_nothing_is_made_of_values_that_are_refused(
    cluster: Cluster, helm: Helm, namespace: str
) -> None:
    with pytest.raises(HelmRefused, match="nothing says who may come in"):
        helm("install", RELEASE, CHART, "-n", namespace, values={"group": "team"})

    assert present(cluster, namespace) == set()


@pytest.mark.parametrize("way", ["true", "false"], ids=["server-side", "client-side"])
def test_an_upgrade_leaves_the_holder_of_the_lease(
    cluster: Cluster, helm: Helm, namespace: str, way: str
) -> None:
    helm("install", RELEASE, CHART, f"--server-side={way}", "-n", namespace, values=DYNAMIC)
    token = cluster.pki.token(account(cluster, namespace), seconds=600)
    path = f"{PATHS['Lease'].format(namespace)}/team-vmcp-status"
    empty = cluster.admin.do("GET", path, token=token)
    spec = {"holderIdentity": "pod-1", "leaseDurationSeconds": 15, "leaseTransitions": 4}
    held = cluster.admin.do("PUT", path, {**empty, "spec": spec}, token=token)["spec"]

    labels = {"commonLabels": {"example.com/new": "yes"}}
    for number in range(2):
        changed = {**DYNAMIC, **labels, "replicas": number + 1}
        helm("upgrade", RELEASE, CHART, "-n", namespace, values=changed)
        found = cluster.admin.do("GET", path)
        assert found["spec"] == held
        assert found["metadata"]["labels"].items() >= labels["commonLabels"].items()
    helm("rollback", RELEASE, "1", "-n", namespace)

    assert cluster.admin.do("GET", path)["spec"] == held


def test_it_tells_how_to_reach_the_gateway(helm: Helm, namespace: str) -> None:
    def notes(values: dict[str, Any]) -> str:
        words = helm("upgrade", "--install", RELEASE, CHART, "-n", namespace, values=values)
        return words.partition("NOTES:\n")[2]

    full, group = notes(FULL), notes(GROUP)

    assert f"https://gateway-vmcp.{namespace}.svc:443/gw/mcp" in full
    assert f"kubectl -n {namespace} port-forward service/gateway-vmcp 4483:443" in full
    assert "a key of the Secret vmcp-keys (all.txt)" in full
    assert "serves the MCPGroup team" in group
    assert "Everybody who reaches it may use it; networkPolicy.clients says who does." in group
    assert "may read no Secret" not in full + group
    assert "may read no Secret" in notes({**DYNAMIC, "rbac": {}})
    assert "Without sealKey.existingSecret" in notes({**STATIC, "replicas": 2})
