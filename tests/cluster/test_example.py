"""The example for a cluster: its README is followed command by command, on a real API server.

No pod runs there. What the kubelet would start is started here, with what the Deployments say.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest
import yaml

from tests.cluster.desk import EXAMPLE, Desk, commands
from tests.support.cluster.chart import account
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.pods import Pod
from tests.support.ports import lasting_port

ROOT = EXAMPLE.parents[1]
SECONDS = 30.0
NAMESPACE = "office"
URLS = {"notes": "https://notes:4491", "clock": "http://clock:4492"}
LOOK = "kubectl get virtualmcpserver office -o yaml"
# Where pods are not: on this machine, at ports of its choice, with a kubeconfig.
HERE = ("--host=127.0.0.1", "--port=0", "--ops-port=0", "--allow-loopback-backends", "--status")
WELCOME = "The coffee machine is on the second floor.\n"


@pytest.fixture
def desk(cluster: Cluster, tmp_path: Path) -> Iterator[Desk]:
    """Somebody with a copy of the tree and a kubeconfig of their own."""
    yield Desk(cluster, tmp_path / "desk")
    cluster.admin.ask("DELETE", f"/api/v1/namespaces/{NAMESPACE}")


class Node:
    """Runs what the Deployments say, at ports of this machine."""

    def __init__(self, cluster: Cluster, desk: Desk, folder: Path) -> None:
        self._cluster, self._desk, self._folder = cluster, desk, folder
        self._ports = {name: lasting_port() for name in URLS}
        self._started = count()
        for name, url in URLS.items():
            desk.edits(url, f"{url.partition(':')[0]}://127.0.0.1:{self._ports[name]}")

    @contextmanager
    def server(self, name: str) -> Iterator[None]:
        """Run one of the servers."""
        program, *words = self._pod(name).command
        inside = URLS[name].rpartition(":")[2]
        here = f"127.0.0.1:{self._ports[name]}"
        words = [word.replace(f"0.0.0.0:{inside}", here) for word in words]
        with subprocess.Popen([program, *words], env=self._desk.env) as process:
            try:
                yield
            finally:
                process.terminate()

    @contextmanager
    def gateway(self) -> Iterator[Pod]:
        """Run the gateway, with the rights of its ServiceAccount."""
        cluster, desk = self._cluster, self._desk
        pod = self._pod("gateway-vmcp")
        token = cluster.pki.token(account(cluster, NAMESPACE), seconds=3600)
        login = cluster.write_kubeconfig(self._folder / "login", {"token": token}, NAMESPACE)
        words = [sys.executable, "-m", "vmcp", *pod.arguments, *HERE]
        env = {**desk.env, **pod.env, "KUBECONFIG": str(login)}
        log = self._folder / "log"
        with log.open("w") as file, subprocess.Popen(words, env=env, cwd=ROOT, stderr=file) as run:
            try:
                told = first_line(log, run)
                desk.env |= {"VMCP_URL": told["url"], "VMCP_OPS_URL": told["operations"]}
                yield pod
            finally:
                run.terminate()

    def _pod(self, deployment: str) -> Pod:
        folder = self._folder / f"pod-{next(self._started)}"
        return Pod(self._cluster, NAMESPACE, deployment, folder)


def first_line(log: Path, process: subprocess.Popen[bytes]) -> dict[str, str]:
    """Return the fields of the line that tells where the gateway is."""
    ends = time.monotonic() + SECONDS
    while not (text := log.read_text()).endswith("\n"):
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
        assert process.poll() is None, text
        assert time.monotonic() < ends
    found: dict[str, str] = json.loads(text.splitlines()[0])
    return found


@pytest.mark.timeout(300)
def test_its_readme_is_true(cluster: Cluster, desk: Desk, tmp_path: Path) -> None:
    node = Node(cluster, desk, tmp_path)
    prepare(cluster, desk)
    with ExitStack() as notes, node.server("clock"):
        notes.enter_context(node.server("notes"))
        with node.gateway() as pod:
            first_call(desk)
            same_files(desk)
            other_objects(desk)
            desk.follows("kubectl rollout restart")
            notes.close()
            notes.enter_context(node.server("notes"))
            desk.sees("vmcp call", WELCOME)
            one_more_client(desk, pod)
    desk.follows("kubectl delete namespace")

    assert desk.left == []


def prepare(cluster: Cluster, desk: Desk) -> None:
    """Come as far as a gateway that can be called, in a namespace that takes no careless pods."""
    desk.follows("kubectl create namespace")
    strict = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.admin.merge(f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {"labels": strict}})
    desk.follows("vmcp key ada")
    desk.follows("export")
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    ends = time.monotonic() + SECONDS
    while len(cluster.admin.do("GET", pods)["items"]) < 3:
        assert time.monotonic() < ends
        cluster.api.rest(0.05)


def first_call(desk: Desk) -> None:
    desk.sees("vmcp tools", "clock_now", "notes_read", without="delete")
    assert desk.follows("vmcp call").out == WELCOME
    desk.sees(LOOK, "name: clock", "name: notes", "status: ready", without="status: un")
    told = desk.follows("kubectl exec").out
    assert "per-backend table: clock-token" in told
    assert "own reference: notes-key" in told


def same_files(desk: Desk) -> None:
    """Have the folder that was applied compared with the gateway, as docs/kubernetes.md tells pipelines to."""
    desk.does("mkdir checked && cp objects/* checked")
    desk.does("kubectl get configmap office-ca -o yaml > checked/ca.yaml")
    compare = "vmcp diff --manifests checked --namespace office --allow-loopback-backends"

    same = desk.does(compare)
    desk.does("cp more.yaml checked")
    other = desk.does(compare)

    assert (same.code, same.out) == (0, "Nothing changes.\n")
    assert (other.code, other.out) == (1, "+ backend archive\n")


def other_objects(desk: Desk) -> None:
    desk.follows("kubectl apply -f more.yaml")
    desk.sees("vmcp tools", "archive_read_note")
    desk.follows("kubectl patch secret office-keys -p")
    assert desk.follows("vmcp call").out == WELCOME
    desk.follows("kubectl patch secret office-keys --type json")
    desk.sees("vmcp tools", "notes_read", "archive_read_note", without="clock_now")
    desk.sees(LOOK, "status: unavailable", "SecretKeyNotFound")
    desk.follows("kubectl apply -f objects/keys.yaml")
    desk.repeats("vmcp tools", "clock_now")


def one_more_client(desk: Desk, pod: Pod) -> None:
    desk.follows("vmcp key bob")
    assert desk.does("vmcp tools").code != 0
    desk.follows("kubectl create secret")
    pod.refresh()
    desk.repeats("vmcp tools", "clock_now")


def test_its_objects_are_valid_without_a_cluster_too(tmp_path: Path) -> None:
    folder = tmp_path / "objects"
    folder.mkdir()
    for file in (*(EXAMPLE / "objects").iterdir(), EXAMPLE / "more.yaml"):
        (folder / file.name).write_text(file.read_text())
    made = [sys.executable, EXAMPLE / "certificate.py"]
    (folder / "ca.yaml").write_text(
        subprocess.run(made, check=True, capture_output=True, text=True).stdout
    )

    ended = subprocess.run(
        [sys.executable, "-m", "vmcp", "validate", "--manifests", folder, "-o", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    told = json.loads(ended.stdout)
    assert (ended.returncode, told.get("problems", [])) == (0, [])
    assert [one["name"] for one in told["backends"]] == ["archive", "clock", "notes"]


def test_the_chart_may_read_what_the_objects_refer_to_and_no_more() -> None:
    values = yaml.safe_load((EXAMPLE / "values.yaml").read_text())
    files = [*(EXAMPLE / "objects").iterdir(), EXAMPLE / "more.yaml"]
    objects = [each for file in files for each in yaml.safe_load_all(file.read_text())]

    secrets, config_maps = set[str](), set[str]()
    for each in objects:
        secrets |= {*names(each, "SecretRef")}
        config_maps |= {*names(each, "configMapRef")}

    assert {*values["rbac"]["secretNames"]} == secrets
    assert {*values["rbac"]["configMapNames"]} == config_maps


def names(value: object, ending: str) -> Iterator[str]:
    """Yield what references whose field ends so name."""
    if isinstance(value, list):
        for each in value:
            yield from names(each, ending)
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.endswith(ending):
                yield inner["name"]
            yield from names(inner, ending)


def test_its_servers_run_the_image_of_the_chart() -> None:
    chart = yaml.safe_load((ROOT / "charts" / "vmcp" / "Chart.yaml").read_text())
    image = f"vmcp:{chart['appVersion']}"
    found = yaml.safe_load_all((EXAMPLE / "servers.yaml").read_text())
    containers = [
        container
        for one in found
        if one["kind"] == "Deployment"
        for container in one["spec"]["template"]["spec"]["containers"]
    ]

    assert [each["image"] for each in containers] == [image, image]
    assert any(line.startswith(f"docker build -f Containerfile -t {image} ") for line in commands())
