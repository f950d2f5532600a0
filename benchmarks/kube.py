"""A gateway that follows a namespace: a real API server, the chart's ServiceAccount, kubectl."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.cases import Gateway
from benchmarks.processes import ProcessFailed, free_port, is_ok, python, running
from tests.kube.binaries.build import ensure
from tests.kube.binaries.places import found
from tests.support.cluster.chart import installed
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.cluster import running as running_cluster
from tests.support.cluster.definitions import install

GATEWAY = "team"
_KUBECTL_SECONDS = 60.0

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace of a running cluster in which the chart is installed, and the login of its account."""

    cluster: Cluster
    name: str
    login: Path

    async def apply(self, *objects: Object) -> None:
        """Run kubectl apply as an administrator, and return when it has ended well."""
        # Beside the login it keeps what it knows of the kinds.
        env = {"PATH": os.defpath, "HOME": str(self.login.parent)}
        words = (f"--kubeconfig={self.cluster.kubeconfig}", "-n", self.name, "apply", "-f", "-")
        process = await asyncio.create_subprocess_exec(
            self.cluster.programs["kubectl"],
            *words,
            env=env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        given = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
        async with asyncio.timeout(_KUBECTL_SECONDS):
            _, complaint = await process.communicate(given)
        if process.returncode:
            raise ProcessFailed(f"kubectl apply failed:\n{complaint.decode()}")


def missing() -> str | None:
    """Build what a cluster needs, once; return why there can be none."""
    return ensure()


@contextmanager
def namespace(values: Object) -> Iterator[Namespace]:
    """Run a cluster for the block, and install the chart there for the gateway `team`."""
    with TemporaryDirectory() as folder, running_cluster(found(), Path(folder)) as cluster:
        install(cluster)
        name = cluster.new_namespace("bench")
        server = {"virtualMCPServer": {"name": GATEWAY}, "allowAnonymous": True}
        account = installed(cluster, name, {**server, **values})
        token = cluster.pki.token(account, seconds=3600)
        login = cluster.write_kubeconfig(cluster.folder / "login", {"token": token}, name)
        yield Namespace(cluster, name, login)


async def is_served(front: Gateway) -> bool:
    """Tell whether a gateway is ready."""
    return await is_ok(front.url.removesuffix("/mcp") + "/readyz")


@asynccontextmanager
async def following(
    place: Namespace, is_there: Callable[[Gateway], Awaitable[bool]] = is_served
) -> AsyncIterator[Gateway]:
    """Run `vmcp serve --kubernetes` under the chart's account for the block, which begins when it is there."""
    port, ops_port = free_port(), free_port()
    words = ("serve", "--kubernetes", "--name", GATEWAY, "--namespace", place.name)
    ports = ("--port", port, "--ops-port", ops_port, "--allow-loopback-backends")
    url = f"http://127.0.0.1:{port}"
    env = {"PATH": os.defpath, "HOME": str(place.login.parent), "KUBECONFIG": str(place.login)}
    command = python("vmcp", *words, *ports)
    front = Gateway(f"{url}/mcp", f"http://127.0.0.1:{ops_port}", pid=0)
    async with running(command, is_ready=partial(is_there, front), env=env) as pid:
        yield replace(front, pid=pid)
