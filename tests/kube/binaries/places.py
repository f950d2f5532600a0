"""Which programs the test cluster is made of, and where they are on this machine."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent

PACKAGES = {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "etcd": "go.etcd.io/etcd/server/v3",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "helm": "helm.sh/helm/v4/cmd/helm",
}
# Raised when they are to be built in another way from the same modules.
_RECIPE = 1


def root() -> Path:
    """Return the folder in which everything is kept between runs, outside of the work tree."""
    return Path.home() / ".cache" / "vmcp-kube"


def cache() -> Path:
    """Return the folder of the programs that are built from these modules; other modules have another one."""
    digest = sha256(str(_RECIPE).encode())
    for name in ("go.mod", "go.sum"):
        digest.update((HERE / name).read_bytes())
    return root() / digest.hexdigest()[:12]


def given() -> Path | None:
    """Return the folder that the machine's owner names for programs of this kind."""
    named = os.environ.get("KUBEBUILDER_ASSETS")  # noqa: TID251
    return Path(named) if named else None


def found() -> dict[str, Path]:
    """Return the programs that are there, each by its name: those of the machine's owner, then those built."""
    places = [place for place in (given(), cache()) if place is not None]
    candidates = {name: [place / name for place in places] for name in PACKAGES}
    there = {name: list(filter(is_program, paths)) for name, paths in candidates.items()}
    return {name: paths[0] for name, paths in there.items() if paths}


def missing() -> list[str]:
    """Return the names of those that are not there."""
    there = found()
    return [name for name in PACKAGES if name not in there]


def is_program(path: Path) -> bool:
    """Say whether it can be run."""
    return path.is_file() and os.access(path, os.X_OK)
