"""The real Helm, as an administrator of the test cluster would use it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.support.cluster.admin import Object
from tests.support.cluster.cluster import Cluster

_SECONDS = 90.0


class HelmRefused(Exception):
    """Helm ended with an error; its text is what it said."""


class Helm:
    """Helm with a home of its own."""

    def __init__(self, cluster: Cluster, home: Path) -> None:
        self._program = cluster.programs["helm"]
        self._env = {"HOME": str(home), "PATH": os.defpath, "KUBECONFIG": str(cluster.kubeconfig)}

    def __call__(self, *words: str | Path, values: Object | None = None) -> str:
        """Run a command and return what it printed; `values` are those of a chart."""
        command = [self._program, *words, *([] if values is None else ["--values", "-"])]
        ended = subprocess.run(
            command,
            env=self._env,
            input=json.dumps(values),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if ended.returncode:
            raise HelmRefused(ended.stderr)
        return ended.stdout

    def rendered(self, chart: Path, *words: str, values: Object | None = None) -> list[Any]:
        """Return the objects that a chart makes, in the order in which it makes them."""
        text = self("template", "gateway", chart, *words, values=values)
        return [one for one in yaml.safe_load_all(text) if one is not None]
