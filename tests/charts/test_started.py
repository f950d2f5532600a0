"""What the chart gives its pods is what the gateway takes: options, config, files; and it follows them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.charts.mounted import Held, Mounted
from tests.charts.objects import CASES, DYNAMIC, FULL, GROUP, STATIC, Chart, Objects
from tests.cli.conftest import ROOT
from tests.cli.servers import running, workshop
from tests.support.authority import certificate, ec_key, plain
from tests.support.cluster.chart import CHART, installed
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.definitions import install, path_of
from tests.support.cluster.helm import Helm
from tests.support.waiting import until
from vmcp.cli import configuration
from vmcp.cli.main import run
from vmcp.config.errors import ConfigInvalid
from vmcp.config.load import Loaded
from vmcp.crd.kinds import GROUP as GROUP_OF_API

KEY = "k" * 40
TLS = {"tls.crt": certificate("gateway", ec_key()), "tls.key": plain(ec_key())}
HELD: Held = {
    "vmcp-keys": {"keys.txt": f"ada: {KEY}\n", "all.txt": f"ada: {KEY}\n"},
    "vmcp-tls": TLS,
    "vmcp-seal": {"text": "s" * 64},
    "wiki": {"token": "t"},
    "wiki.files": {"token": "t"},
    "notes": {"key": "n"},
    "company-ca": {"ca.crt": TLS["tls.crt"]},
}


def loaded(mounted: Mounted) -> Loaded:
    """Return the config as a gateway with these arguments would read it."""
    words = mounted.arguments
    (host,) = (word.partition("=")[2] for word in words if word.startswith("--host="))
    namespace = "team" if "--kubernetes" in words else None
    options = {"server": {"host": host}}
    sources = configuration.sources(mounted.config, None, options, None, namespace)
    load = configuration.loading(may_be_exposed="--insecure-anonymous" in words)
    return load(sources, mounted.variables)


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_the_gateway_takes_what_the_chart_makes_of_values(
    chart: Chart, tmp_path: Path, values: dict[str, Any]
) -> None:
    found = loaded(Mounted(chart(values), HELD, tmp_path))

    server = found.config.server
    assert (server.host, server.port) == ("0.0.0.0", 4483)
    assert (server.ops_host == "0.0.0.0", server.ops_port) == ("metrics" in values, 9464)
    asks = "apiKeys" in values
    assert found.config.incoming_auth.type == ("api_key" if asks else "anonymous")
    assert (found.tls is not None) is ("tls" in values)
    assert (server.seal_key_file is not None) is ("sealKey" in values)


def test_a_gateway_that_lets_everybody_in_would_not_start_without_the_option(
    chart: Chart, tmp_path: Path
) -> None:
    made = chart(GROUP)
    made.container["args"].remove("--insecure-anonymous")

    with pytest.raises(ConfigInvalid, match="incomingAuth lets everybody in"):
        loaded(Mounted(made, HELD, tmp_path))


def test_the_options_of_the_chart_are_options_of_the_gateway(
    chart: Chart, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Wide, since help is laid out for the terminal.
    monkeypatch.setenv("COLUMNS", "200")
    run(("serve", "--help"))
    shown = capsys.readouterr().out

    for values in (STATIC, DYNAMIC, GROUP, FULL):
        for word in chart(values).container["args"][1:]:
            assert f" {word.partition('=')[0]} " in shown


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    """Give the URL of a server with tools."""
    with running(workshop().streamable_http_app()) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@contextmanager
def started(mounted: Mounted, *more: str, **variables: str) -> Iterator[dict[str, str]]:
    """Run what the container runs, at free ports of this machine; give the fields of its first line."""
    here = ["--host=127.0.0.1", "--port=0", "--ops-port=0", *more]
    words = [sys.executable, "-m", "vmcp", *mounted.arguments, *here]
    env = {"PATH": os.defpath, **mounted.variables, **variables}
    with subprocess.Popen(words, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield json.loads(process.stderr.readline())
        finally:
            process.terminate()
            process.communicate(timeout=30)


def answer(url: str) -> int:
    with urlopen(url) as told:
        return int(told.status)


def status(operations: str) -> dict[str, Any]:
    with urlopen(f"{operations}/status") as answer:
        found: dict[str, Any] = json.load(answer)
        return found


async def test_a_changed_config_is_followed_without_a_new_pod(
    chart: Chart, tmp_path: Path, shop: str
) -> None:
    one = {"backends": [{"name": "shop", "url": shop}]}
    two = {"backends": [*one["backends"], {"name": "store", "url": shop}], "name": "changed"}
    before, after = (chart(STATIC, config=config, mounts={}, secretEnv={}) for config in (one, two))
    mounted = Mounted(before, HELD, tmp_path)

    with started(mounted) as told:
        names = {each["name"] for each in status(told["operations"])["backends"]}
        mounted.change(after, HELD)
        await until(lambda: len(status(told["operations"])["backends"]) == 2, 20.0)

    assert names == {"shop"}
    assert template(before) == template(after)


def template(made: Any) -> Any:
    return made.one("Deployment")["spec"]["template"]


MADE = {
    "virtualMCPServer": {"name": "team", "create": True},
    "mcpGroup": {"create": True},
    "rbac": {"secretNames": ["key"]},
    "allowAnonymous": True,
}


async def test_a_gateway_with_the_rights_of_the_chart_serves_and_tells(
    cluster: Cluster, helm: Helm, namespace: str, tmp_path: Path, shop: str
) -> None:
    install(cluster)
    login = logged_in(cluster, namespace, tmp_path)
    with_a_backend(cluster, namespace, shop)
    made = Objects(helm.rendered(CHART, "-n", namespace, values=MADE))
    pod = Mounted(made, HELD, tmp_path / "pod")

    # Only a pod does so untold.
    options = ("--allow-loopback-backends", "--status")
    with started(pod, *options, KUBECONFIG=str(login)) as told:
        await until(lambda: reported(cluster, namespace).get("backendCount") == 1, 30.0)
        holder = lease(cluster, namespace)["holderIdentity"]
        installed(cluster, namespace, {**MADE, "commonLabels": {"example.com/new": "yes"}})
        after = lease(cluster, namespace)["holderIdentity"]
        ready = answer(f"{told['operations']}/readyz")

    (backend,) = reported(cluster, namespace)["discoveredBackends"]
    assert (backend["name"], backend["status"]) == ("shop", "ready")
    assert ready == 200
    assert holder
    assert after == holder


def logged_in(cluster: Cluster, namespace: str, folder: Path) -> Path:
    """Install the chart; return a kubeconfig of its account."""
    token = cluster.pki.token(installed(cluster, namespace, MADE), seconds=3600)
    return cluster.write_kubeconfig(folder / "login", {"token": token}, namespace)


def with_a_backend(cluster: Cluster, namespace: str, url: str) -> None:
    """Add a member to the group that needs a Secret."""
    secret = {"metadata": {"name": "key"}, "stringData": {"key": "k"}}
    cluster.admin.do("POST", f"/api/v1/namespaces/{namespace}/secrets", secret)
    header = {"headerName": "X-Key", "valueSecretRef": {"name": "key", "key": "key"}}
    spec = {
        "groupRef": {"name": "team"},
        "transport": "streamable-http",
        "remoteUrl": url,
        "headerForward": {"addHeadersFromSecret": [header]},
    }
    kind = {"apiVersion": f"{GROUP_OF_API}/v1beta1", "kind": "MCPServerEntry"}
    entry = {**kind, "metadata": {"name": "shop"}, "spec": spec}
    cluster.admin.do("POST", path_of("MCPServerEntry", namespace), entry)


def reported(cluster: Cluster, namespace: str) -> Any:
    path = path_of("VirtualMCPServer", namespace)
    return cluster.admin.do("GET", f"{path}/team").get("status", {})


def lease(cluster: Cluster, namespace: str) -> Any:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/team-vmcp-status"
    return cluster.admin.do("GET", path)["spec"]
