"""A real control plane on 127.0.0.1: etcd, kube-apiserver and kube-controller-manager, without nodes.

Pods stay Pending, nothing is routed, and all else is as in production: TLS, RBAC, service account tokens,
controllers, garbage collection.
"""

from __future__ import annotations

import json
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.support.cluster.admin import Admin, Object
from tests.support.cluster.pki import ISSUER, Account, Pki
from tests.support.cluster.programs import Program
from tests.support.ports import lasting_port

_TRIES = 3
_READY_SECONDS = 60.0
_LOOK_SECONDS = 0.05
_CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
)
# Without a cache of their watches, ConfigMaps have no more history than etcd: see `compact`.
_UNCACHED = "configmaps#0"


class NotStarted(Exception):
    """A program of the cluster does not run."""


class Cluster:
    """The control plane, with handles to disturb it."""

    def __init__(self, programs: dict[str, Path], folder: Path) -> None:
        self.programs = programs
        self.folder = folder
        self.pki = Pki(folder / "pki")
        self.port, self._etcd_port, self._peer_port = (lasting_port() for _ in range(3))
        self.admin = Admin(self.pki, self.port)
        self.kubeconfig = self.write_kubeconfig(folder / "admin.kubeconfig", self._certificate())
        self.etcd = self._program("etcd", self._etcd_flags())
        self.api = self._program("kube-apiserver", self._api_flags())
        self.controllers = self._program("kube-controller-manager", self._controller_flags())

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start what does not run, and return when the API server is ready."""
        self.revive()
        self.wait_ready()
        self.controllers.start()

    def end(self) -> None:
        """End everything."""
        for program in (self.controllers, self.api, self.etcd):
            program.end()

    def revive(self) -> None:
        """Start the API server and its storage where they do not run; `wait_ready` may follow in a thread."""
        self.etcd.start()
        self.api.start()

    def restart(self) -> None:
        """Crash the API server and start it again: it then knows of no earlier version of any object."""
        self.api.kill()
        self.start()

    def compact(self) -> None:
        """Make etcd forget history: a watch of ConfigMaps from an earlier version gets 410; open ones go on."""
        # The last change of all stays known, so there must be one that nobody watches.
        told = self._ask_etcd("put", {"key": "AA==", "value": "AA=="})
        self._ask_etcd("compaction", {"revision": told["header"]["revision"], "physical": True})

    def is_ready(self) -> bool:
        with suppress(OSError):
            return self.admin.ask("GET", "/readyz", seconds=2.0).status == 200
        return False

    def wait_ready(self) -> None:
        """Return once the API server is ready; raise NotStarted where it has ended."""
        for _ in range(round(_READY_SECONDS / _LOOK_SECONDS)):
            if self.is_ready():
                return
            for program in (self.etcd, self.api):
                if not program.is_running:
                    raise NotStarted(program.last_words())
            self.api.rest(_LOOK_SECONDS)
        raise NotStarted(self.api.last_words())

    def new_namespace(self, word: str = "test") -> str:
        """Make a namespace of an own name."""
        name = f"{word}-{uuid4().hex[:10]}"
        self.admin.do("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def new_account(self, namespace: str, name: str, rules: list[Object]) -> Account:
        """Make a service account and give it a Role of its own name."""
        made = self.admin.do(
            "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}}
        )
        self.allow(namespace, name, rules)
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        binding = {"metadata": {"name": name}, "subjects": [subject], "roleRef": role}
        self.admin.do("POST", f"{_rbac(namespace)}/rolebindings", binding)
        return Account(namespace, name, made["metadata"]["uid"])

    def allow(self, namespace: str, name: str, rules: list[Object]) -> None:
        """Say what a Role allows from now on."""
        kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
        role = {**kind, "metadata": {"name": name}, "rules": rules}
        self.admin.apply(f"{_rbac(namespace)}/roles", role)

    def write_kubeconfig(self, path: Path, user: Object, namespace: str = "default") -> Path:
        """Write a kubeconfig for a user of this cluster."""
        ca = b64encode(self.pki.ca.read_bytes()).decode()
        context = {"cluster": "test", "user": "user", "namespace": namespace}
        server = {"server": self.url, "certificate-authority-data": ca}
        text = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": server}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "test", "context": context}],
            "current-context": "test",
        }
        path.write_text(json.dumps(text))
        return path

    def write_pod_files(self, folder: Path, namespace: str, token: str) -> Path:
        """Write what a pod is given of its service account."""
        folder.mkdir(exist_ok=True)
        (folder / "ca.crt").write_bytes(self.pki.ca.read_bytes())
        (folder / "namespace").write_text(namespace)
        (folder / "token").write_text(token)
        return folder

    def _certificate(self) -> Object:
        files = {"client-certificate-data": "admin.crt", "client-key-data": "admin.key"}
        return {
            key: b64encode(self.pki.path(name).read_bytes()).decode() for key, name in files.items()
        }

    def _program(self, name: str, flags: dict[str, object]) -> Program:
        words = [f"--{key}={value}" for key, value in flags.items()]
        return Program(self.programs[name], words, self.folder / f"{name}.log")

    def _ask_etcd(self, what: str, body: Object) -> Any:
        url = f"http://127.0.0.1:{self._etcd_port}/v3/kv/{what}"
        with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=10) as answer:
            return json.load(answer)

    def _etcd_flags(self) -> dict[str, object]:
        client, peer = (f"http://127.0.0.1:{port}" for port in (self._etcd_port, self._peer_port))
        return {
            "name": "test",
            "data-dir": self.folder / "etcd",
            # What survives a crash of the process is enough here.
            "unsafe-no-fsync": "true",
            "log-level": "warn",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"test={peer}",
        }

    def _api_flags(self) -> dict[str, object]:
        return {
            "etcd-servers": f"http://127.0.0.1:{self._etcd_port}",
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": self.port,
            "tls-cert-file": self.pki.path("apiserver.crt"),
            "tls-private-key-file": self.pki.path("apiserver.key"),
            "client-ca-file": self.pki.ca,
            "service-account-issuer": ISSUER,
            "service-account-key-file": self.pki.path("sa.pub"),
            "service-account-signing-key-file": self.pki.path("sa.key"),
            "authorization-mode": "RBAC",
            "anonymous-auth": "false",
            "service-cluster-ip-range": "10.96.0.0/24",
            "endpoint-reconciler-type": "none",
            # A Pod may come before the default service account of its namespace does.
            "disable-admission-plugins": "ServiceAccount",
            "watch-cache-sizes": _UNCACHED,
        }

    def _controller_flags(self) -> dict[str, object]:
        return {
            "kubeconfig": self.kubeconfig,
            "leader-elect": "false",
            "secure-port": 0,
            "controllers": ",".join(_CONTROLLERS),
            "service-account-private-key-file": self.pki.path("sa.key"),
            "root-ca-file": self.pki.ca,
        }


@contextmanager
def running(programs: dict[str, Path], folder: Path) -> Iterator[Cluster]:
    """Run a cluster for the block; where a port was taken meanwhile, try others."""
    for number in range(_TRIES):
        cluster = Cluster(programs, folder / str(number))
        try:
            cluster.start()
        except NotStarted:
            cluster.end()
            if number == _TRIES - 1:
                raise
            continue
        try:
            yield cluster
        finally:
            cluster.end()
        return


def _rbac(namespace: str) -> str:
    return f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
