"""The options that name a folder of manifests, and what of it is served."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmcp.cli.stop import ExitCode, Stop
from vmcp.discovery.choice import Choice, Folder

Manifests = Annotated[
    Path | None,
    typer.Option(
        "--manifests",
        metavar="DIR",
        help="A folder of custom resources as YAML, as they would be applied to a cluster; it is followed.",
    ),
]
GatewayName = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="With --kubernetes or --manifests: this VirtualMCPServer.",
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="NAME",
        help="With --kubernetes or --manifests: all members of this MCPGroup, on no VirtualMCPServer's terms.",
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        metavar="NAME",
        help="With --kubernetes or --manifests: the objects of this namespace.",
    ),
]
Loopback = Annotated[
    bool,
    typer.Option(
        "--allow-loopback-backends",
        help="With --kubernetes or --manifests: dial a spec.remoteUrl on this machine too; for tests and laptops.",
    ),
]


def choice(
    folder: Path | None,
    gateway: str | None,
    group: str | None,
    namespace: str | None,
    *,
    allows_loopback: bool,
) -> Folder | None:
    """Return what the options choose, None without a folder; raise Stop where they do not go together."""
    if folder is None:
        if (gateway, group, namespace) != (None, None, None) or allows_loopback:
            raise Stop(
                "--name, --group, --namespace and --allow-loopback-backends go with --kubernetes or --manifests.",
                ExitCode.USAGE,
            )
        return None
    if gateway is not None and group is not None:
        raise Stop("--name and --group do not go together.", ExitCode.USAGE)
    if not folder.is_dir():
        raise Stop(f"{folder} is no folder.", ExitCode.USAGE)
    return Folder(folder, Choice(gateway, group, namespace, allows_loopback))
