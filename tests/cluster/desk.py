"""Somebody who follows the README of the example for a cluster, command by command."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.cluster.cluster import Cluster

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kubernetes"
_SECONDS = 30.0
_IN_POD = re.compile(r"kubectl exec \S+ -- ")
# What builds images, or waits for pods.
_NEEDS_NODES = (
    *("docker build", "kind load", "kubectl rollout status", "kubectl port-forward"),
    # Whoever follows knows the key.
    "export VMCP_API_KEY=...",
)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def commands() -> list[str]:
    """Return the commands of the README in their order, without the remarks behind them."""
    lines = (EXAMPLE / "README.md").read_text().splitlines()
    return [line.partition("  # ")[0].strip() for line in lines if line.startswith("    ")]


class Desk:
    """A copy of the tree as far as the README needs it, with kubectl, Helm and vmcp, as an administrator."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.left = commands()
        self._folder = folder / "examples" / "kubernetes"
        shutil.copytree(EXAMPLE, self._folder)
        shutil.copytree(EXAMPLE.parents[1] / "charts", folder / "charts")
        programs = [cluster.programs["kubectl"].parent, Path(sys.executable).parent]
        shutil.copy(cluster.kubeconfig, folder / "kubeconfig")
        self.env = {
            "PATH": ":".join(map(str, (*programs, "/usr/bin", "/bin"))),
            "HOME": str(folder),
            "KUBECONFIG": str(folder / "kubeconfig"),
        }

    def edits(self, old: str, new: str) -> None:
        """Write something else into the objects."""
        for file in (*(self._folder / "objects").iterdir(), self._folder / "more.yaml"):
            file.write_text(file.read_text().replace(old, new))

    def follows(self, beginning: str) -> Ended:
        """Do all that the README says up to the next command that begins so; return how that ended."""
        while True:
            line = self.left.pop(0)
            ended = Ended(0, "", "") if line.startswith(_NEEDS_NODES) else self.does(line)
            assert ended.code == 0, f"{line}: {ended.out}{ended.err}"
            if line.startswith(beginning):
                return ended

    def sees(self, beginning: str, *words: str, without: str = "nothing of it") -> None:
        """Do the next command, which must begin so, again and again until it shows what is to be seen."""
        line = self.left.pop(0)
        assert line.startswith(beginning)
        self._until(line, words, without)

    def repeats(self, line: str, *words: str) -> None:
        """Do an earlier command again and again until it shows what is to be seen."""
        assert line in commands()
        self._until(line, words, "nothing of it")

    def _until(self, line: str, words: tuple[str, ...], without: str) -> None:
        ends = time.monotonic() + _SECONDS
        while True:
            ended = self.does(line)
            if all(word in ended.out for word in words) and without not in ended.out:
                return
            assert time.monotonic() < ends, f"{line}: {ended.out}{ended.err}"

    def does(self, line: str) -> Ended:
        """Do what a line says; what runs in a pod runs here."""
        words = ["bash", "-o", "pipefail", "-c", _IN_POD.sub("", line)]
        ended = subprocess.run(
            words,
            cwd=self._folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if line.startswith("vmcp key"):
            # As `export` would.
            self.env["VMCP_API_KEY"] = ended.stderr.split()[-1]
        return Ended(ended.returncode, ended.stdout, ended.stderr)
