"""`vmcp serve --kubernetes` without a cluster: what it needs is told at once, in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Vmcp
from tests.support.kube_api import kubeconfig

NAMED = ("--name", "gateway", "--namespace", "apps")


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have no variables that name a gateway, and no kubeconfig."""
    for name in ("VMCP_NAME", "VMCP_NAMESPACE", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "needs the name of a VirtualMCPServer (--name or VMCP_NAME), or a --group."),
        (("--name", "gateway"), "needs --namespace or VMCP_NAMESPACE."),
        (("--group", "tools"), "needs --namespace or VMCP_NAMESPACE."),
        ((*NAMED, "--group", "tools"), "--name and --group do not go together."),
        (("--group", "tools", "--namespace", "apps", "--status"), "--status goes with --name"),
        (("--name", "gw", "--namespace", "My/apps"), "No namespace can have the name 'My/apps'."),
        (("--name", "gw", "--namespace", "apps.eu"), "No namespace can have the name 'apps.eu'."),
        (
            ("--name", "gw/status", "--namespace", "apps"),
            "No object can have the name 'gw/status'.",
        ),
        (("--group", "..", "--namespace", "apps"), "No object can have the name '..'."),
        ((*NAMED, "--manifests", "."), "--kubernetes and --manifests do not go together."),
    ],
)
def test_what_does_not_say_which_objects_is_refused(
    vmcp: Vmcp, words: tuple[str, ...], told: str
) -> None:
    ended = vmcp("serve", "--kubernetes", *words)

    assert (ended.code, told in " ".join(ended.err.split())) == (2, True), ended.err


def test_a_context_without_a_cluster_is_refused(vmcp: Vmcp) -> None:
    ended = vmcp("serve", "--context", "work")

    assert (ended.code, ended.err.strip()) == (2, "--context and --status go with --kubernetes.")


def test_variables_name_the_gateway_as_in_a_pod(
    vmcp: Vmcp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VMCP_NAME", "gateway")
    monkeypatch.setenv("VMCP_NAMESPACE", "apps")

    ended = vmcp("serve", "--kubernetes")

    # It came as far as the login.
    wanted = f"There is no kubeconfig {tmp_path}/.kube/config."
    assert (ended.code, " ".join(ended.err.split())) == (1, wanted)


def test_a_pod_without_a_token_is_told_so(vmcp: Vmcp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    ended = vmcp("serve", "--kubernetes", *NAMED)

    assert (ended.code, "automountServiceAccountToken" in ended.err) == (1, True), ended.err


def test_certificates_that_cannot_be_used_are_told_at_once(
    vmcp: Vmcp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_text("no certificate")
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority": str(tmp_path / "ca.crt")}
    file = kubeconfig(tmp_path / "kubeconfig", cluster["server"], {"token": "t"})
    text = json.loads(file.read_text())
    text["clusters"][0]["cluster"] = cluster
    file.write_text(json.dumps(text))
    monkeypatch.setenv("KUBECONFIG", str(file))

    ended = vmcp("serve", "--kubernetes", *NAMED)

    told = "The certificates of the login cannot be used: SSLError."
    assert (ended.code, " ".join(ended.err.split())) == (1, told)


def test_a_context_that_there_is_not_is_told_with_those_that_there_are(
    vmcp: Vmcp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "some.kubeconfig"
    file.write_text(
        "{apiVersion: v1, kind: Config, clusters: [], users: [], contexts: [{name: home, context: {}}]}"
    )
    monkeypatch.setenv("KUBECONFIG", str(file))

    ended = vmcp("serve", "--kubernetes", *NAMED, "--context", "work")

    assert ended.code == 1
    assert "has no context 'work', but: home." in " ".join(ended.err.split())


def test_where_auth_is_discovered_the_file_cannot_ask_for_the_contrary(
    vmcp: Vmcp, tmp_path: Path
) -> None:
    config = tmp_path / "vmcp.yaml"
    config.write_text("backends: []\noutgoingAuth: {source: inline}\n")

    ended = vmcp("serve", "--kubernetes", *NAMED, "--config", str(config))

    assert ended.code == 2
    assert "outgoingAuth.source: With --kubernetes it is discovered" in ended.err


@pytest.mark.config_key("outgoingAuth.source")
def test_without_custom_resources_there_is_nothing_to_discover(vmcp: Vmcp, tmp_path: Path) -> None:
    config = tmp_path / "vmcp.yaml"
    config.write_text(json.dumps({"backends": [], "outgoingAuth": {"source": "discovered"}}))

    ended = vmcp("validate", "--config", str(config))
    beside = vmcp("validate", "--config", str(config), "--manifests", str(tmp_path))

    assert (ended.code, "outgoingAuth" in beside.err) == (2, False)
    assert "outgoingAuth.source: There are no custom resources to discover it in." in ended.err
