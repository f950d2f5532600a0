"""`vmcp diff` against a gateway that follows a namespace, with the files that were applied there."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import yaml

from tests.support.cluster.cluster import Cluster
from tests.support.cluster.following import following, status
from tests.support.cluster.resources import Resources
from tests.support.objects import Json, entry_at, group, obj, virtual
from tests.support.servers import Gateway
from tests.support.waiting import until

OIDC = {"oidcConfigRef": {"name": "o", "audience": "a"}}
MEMBER = {"groupRef": {"name": "tools"}}


def objects() -> list[Json]:
    """Return a namespace with a member of each kind, and one that does not run."""
    server = {**MEMBER, "image": "server:1", "transport": "streamable-http"}
    proxy = {**MEMBER, **OIDC, "remoteUrl": "https://far.example/mcp"}
    return [
        group(),
        virtual(),
        entry_at("http://127.0.0.1:9/mcp", "entry"),
        obj("MCPServer", "server", server),
        obj("MCPServer", "late", server),
        obj("MCPRemoteProxy", "proxy", proxy),
    ]


async def test_what_was_applied_changes_nothing_although_no_file_says_where_workloads_run(
    taught: Cluster, tmp_path: Path
) -> None:
    home, folder = Resources(taught), tmp_path / "objects"
    folder.mkdir()
    await home.put(*objects())
    await home.report("MCPServer", "server", url="http://127.0.0.1:9/server", phase="Ready")
    await home.report("MCPRemoteProxy", "proxy", url="http://127.0.0.1:9", phase="Ready")
    home.login()
    (folder / "all.yaml").write_text(yaml.safe_dump_all(objects()))
    with following(home.namespace, "gw", taught.folder / f"{home.namespace}.kubeconfig") as gateway:
        await until(lambda: len(status(gateway)["backends"]) == 3)
        same = await diff(gateway, folder, home.namespace)

        (folder / "all.yaml").write_text(yaml.safe_dump_all(objects()[:-1]))
        other = await diff(gateway, folder, home.namespace)

    assert (same.returncode, same.stdout) == (0, "Nothing changes.\n")
    assert (other.returncode, other.stdout) == (1, "- backend proxy\n")


async def diff(gateway: Gateway, folder: Path, namespace: str) -> subprocess.CompletedProcess[str]:
    """Run `vmcp diff` of a folder against a gateway."""
    words = ["diff", "--manifests", str(folder), "--ops-url", gateway.ops_url]
    command = [sys.executable, "-m", "vmcp", *words, "--namespace", namespace]
    return await asyncio.to_thread(
        subprocess.run,
        [*command, "--allow-loopback-backends"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
