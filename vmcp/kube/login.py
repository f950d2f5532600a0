"""The two ways to log in at an API server: as a pod in its cluster, and by a kubeconfig."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from vmcp.clock import Clock
from vmcp.errors import ExtraMissing
from vmcp.kube.access import Access

# The kubelet exchanges a token long before it expires; who reads it each minute always has a good one.
_GOOD_SECONDS = 60.0
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class InCluster:
    """Log in as the pod's service account, whose files lie in `folder`."""

    host: str
    port: str
    folder: Path

    async def renew(self) -> Access:
        """Read token and CA anew."""
        library = await _library()
        access: Access = await asyncio.to_thread(
            library.in_cluster, self.host, self.port, self.folder, good_seconds=_GOOD_SECONDS
        )
        return access


@dataclass(frozen=True, slots=True)
class ByKubeconfig:
    """Log in as kubectl would with these files, joined by `:`, in a context or the current one."""

    files: str
    context: str | None
    clock: Clock

    async def renew(self) -> Access:
        """Read the files anew, and ask the plugin that they name."""
        library = await _library()
        access: Access = await library.by_kubeconfig(
            self.files, self.context, self.clock.now(), good_seconds=_GOOD_SECONDS
        )
        return access


async def _library() -> Any:
    try:
        return await asyncio.to_thread(import_module, "vmcp.kube.library")
    except ModuleNotFoundError as error:
        raise ExtraMissing("Kubernetes", "kubernetes") from error
