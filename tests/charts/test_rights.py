"""What the ServiceAccount of the chart may do on a real API server, tried with its own token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.cluster.admin import Object
from tests.support.cluster.chart import installed
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import install, path_of
from vmcp.crd.kinds import GROUP as API_GROUP
from vmcp.crd.kinds import KINDS as ALL_KINDS
from vmcp.crd.things import KINDS

VALUES = {
    "virtualMCPServer": {"name": "team"},
    "rbac": {"secretNames": ["wiki"], "configMapNames": ["company-ca"]},
    "allowAnonymous": True,
}
GROUP = {"group": "team", "allowAnonymous": True, "rbac": VALUES["rbac"]}
STATIC = {"mode": "static", "config": {"backends": []}, "allowAnonymous": True}
APPLY = "application/apply-patch+yaml"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
PLURALS = ("secrets", "configmaps")


@pytest.fixture(scope="module", autouse=True)
def definitions(cluster: Cluster) -> None:
    install(cluster)


@dataclass(frozen=True)
class Holder:
    """Who has a token of the chart's account, in a namespace with some objects."""

    cluster: Cluster
    namespace: str
    token: str

    def status(self, method: str, path: str, body: Object | None = None, **more: Any) -> int:
        """Return how the server answers; `{}` in the path is the namespace."""
        at = path.format(self.namespace)
        while True:
            told = self.cluster.admin.ask(method, at, body, token=self.token, **more)
            # A kind whose definition was applied a moment ago may be made ready anew.
            if told.status != 429:
                return told.status
            self.cluster.api.rest(0.05)

    def core(self, plural: str, rest: str = "") -> int:
        return self.status("GET", f"/api/v1/namespaces/{{}}/{plural}{rest}")

    def may_watch(self, plural: str) -> bool:
        """Ask the server, which would hold an answer open that is allowed."""
        asked = {"namespace": self.namespace, "verb": "watch", "group": API_GROUP}
        review = {"spec": {"resourceAttributes": {**asked, "resource": plural}}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        return bool(
            self.cluster.admin.do("POST", path, review, token=self.token)["status"]["allowed"]
        )

    def write_status(self, name: str) -> int:
        status = {"status": {"backendCount": 1}}
        path = f"{path_of('VirtualMCPServer', '{}')}/{name}/status?fieldManager=vmcp&force=true"
        kind = {"apiVersion": f"{API_GROUP}/v1beta1", "kind": "VirtualMCPServer"}
        body = {**kind, "metadata": {"name": name}, **status}
        return self.status("PATCH", path, body, content_type=APPLY)


def holder(cluster: Cluster, namespace: str, values: Object) -> Holder:
    """Install the chart among objects that it is to read, and others."""
    admin, core = cluster.admin, f"/api/v1/namespaces/{namespace}"
    for name in ("wiki", "other"):
        secret = {"metadata": {"name": name}, "stringData": {"token": "t"}}
        admin.do("POST", f"{core}/secrets", secret)
    for name in ("company-ca", "other"):
        admin.do(
            "POST", f"{core}/configmaps", {"metadata": {"name": name}, "data": {"ca.crt": "c"}}
        )
    for name in ("team", "other"):
        spec = {"groupRef": {"name": "team"}, "incomingAuth": {"type": "anonymous"}}
        kind = {"apiVersion": f"{API_GROUP}/v1beta1", "kind": "VirtualMCPServer"}
        server = {**kind, "metadata": {"name": name}, "spec": spec}
        admin.do("POST", path_of("VirtualMCPServer", namespace), server)
    account = installed(cluster, namespace, values)
    return Holder(cluster, namespace, cluster.pki.token(account, seconds=600))


def watch(name: str) -> str:
    """Return the query by which one object is followed, for a moment."""
    return f"?watch=1&timeoutSeconds=1&fieldSelector=metadata.name={name}"


def test_what_is_named_can_be_read_and_followed(cluster: Cluster, namespace: str) -> None:
    ours = holder(cluster, namespace, VALUES)

    for plural, name in (("secrets", "wiki"), ("configmaps", "company-ca")):
        assert ours.core(plural, f"/{name}") == 200
        assert ours.core(plural, f"?fieldSelector=metadata.name={name}") == 200
        assert ours.core(plural, watch(name)) == 200


def test_nothing_else_of_their_kinds_can_be_read(cluster: Cluster, namespace: str) -> None:
    ours = holder(cluster, namespace, VALUES)

    for plural in PLURALS:
        assert ours.core(plural, "/other") == 403
        assert ours.core(plural, "?fieldSelector=metadata.name=other") == 403
        assert ours.core(plural, watch("other")) == 403
        assert ours.core(plural) == 403
        assert ours.core(plural, "?watch=1&timeoutSeconds=1") == 403
        assert ours.status("GET", f"/api/v1/{plural}") == 403


def test_nothing_of_another_namespace_can_be_read(cluster: Cluster, namespace: str) -> None:
    ours, elsewhere = holder(cluster, namespace, VALUES), cluster.new_namespace()

    assert ours.status("GET", f"/api/v1/namespaces/{elsewhere}/secrets/wiki") == 403
    for kind in KINDS:
        assert ours.status("GET", path_of(kind, elsewhere)) == 403


@pytest.mark.parametrize("values", [VALUES, GROUP], ids=["server", "group"])
def test_the_custom_resources_of_the_namespace_are_followed_and_no_others(
    cluster: Cluster, namespace: str, values: Object
) -> None:
    ours = holder(cluster, namespace, values)

    for kind in ALL_KINDS:
        path = path_of(kind.name, "{}")
        assert (ours.status("GET", path) == 200) is (kind.name in KINDS)
        assert ours.may_watch(kind.plural) is (kind.name in KINDS)


def test_the_own_status_is_written_and_nothing_else(cluster: Cluster, namespace: str) -> None:
    ours = holder(cluster, namespace, VALUES)
    servers = path_of("VirtualMCPServer", "{}")
    spec = {"spec": {"groupRef": {"name": "another"}}}
    merge = "application/merge-patch+json"

    assert ours.write_status("team") == 200
    assert ours.write_status("other") == 403
    assert ours.status("PATCH", f"{servers}/team", spec, content_type=merge) == 403
    assert ours.status("DELETE", f"{servers}/team") == 403
    assert ours.status("POST", servers, {"metadata": {"name": "new"}}) == 403
    secret = {"data": {"token": "dg=="}}
    at = "/api/v1/namespaces/{}/secrets/wiki"
    assert ours.status("PATCH", at, secret, content_type=merge) == 403
    assert ours.status("DELETE", at) == 403


def test_the_own_lease_is_held_and_no_other_made(cluster: Cluster, namespace: str) -> None:
    ours = holder(cluster, namespace, VALUES)
    admin, path = cluster.admin, LEASES.format(namespace)
    other = {"metadata": {"name": "other-vmcp-status"}}
    admin.do("POST", path, other)
    lease = admin.do("GET", f"{path}/team-vmcp-status")
    held = {**lease, "spec": {"holderIdentity": "pod-1"}}

    assert ours.status("GET", f"{LEASES}/team-vmcp-status") == 200
    assert ours.status("PUT", f"{LEASES}/team-vmcp-status", held) == 200
    assert ours.status("GET", f"{LEASES}/other-vmcp-status") == 403
    assert ours.status("PUT", f"{LEASES}/other-vmcp-status", other) == 403
    assert ours.status("POST", LEASES, {"metadata": {"name": "new"}}) == 403
    assert ours.status("DELETE", f"{LEASES}/team-vmcp-status") == 403
    assert ours.status("GET", LEASES) == 403


def test_a_gateway_of_a_group_writes_nothing(cluster: Cluster, namespace: str) -> None:
    ours = holder(cluster, namespace, GROUP)

    assert ours.write_status("team") == 403
    assert ours.status("GET", f"{LEASES}/team-vmcp-status") == 403
    assert ours.core("secrets", "/wiki") == 200


def test_the_price_of_the_whole_namespace_is_every_secret(cluster: Cluster, namespace: str) -> None:
    ours = holder(cluster, namespace, {**VALUES, "rbac": {"namespaceWide": True}})

    for plural in PLURALS:
        assert ours.core(plural) == 200
        assert ours.core(plural, "/other") == 200
        assert ours.status("GET", f"/api/v1/{plural}") == 403
    assert ours.status("DELETE", "/api/v1/namespaces/{}/secrets/other") == 403


def test_without_names_no_secret_can_be_read(cluster: Cluster, namespace: str) -> None:
    ours = holder(cluster, namespace, {**VALUES, "rbac": {}})

    for plural, name in (("secrets", "wiki"), ("configmaps", "company-ca")):
        assert ours.core(plural, f"/{name}") == 403
        assert ours.core(plural) == 403


def test_an_account_of_static_mode_may_do_nothing(cluster: Cluster, namespace: str) -> None:
    ours = holder(cluster, namespace, STATIC)

    for plural in PLURALS:
        assert ours.core(plural) == 403
        assert ours.core(plural, "/wiki") == 403
    for kind in ALL_KINDS:
        assert ours.status("GET", path_of(kind.name, "{}")) == 403
    assert ours.write_status("team") == 403
    assert ours.status("GET", LEASES) == 403


def test_rights_follow_the_values(cluster: Cluster, namespace: str) -> None:
    ours = holder(cluster, namespace, VALUES)
    assert ours.core("secrets", "/other") == 403

    installed(cluster, namespace, {**VALUES, "rbac": {"secretNames": ["other"]}})

    assert ours.core("secrets", "/other") == 200
    assert ours.core("secrets", "/wiki") == 403
