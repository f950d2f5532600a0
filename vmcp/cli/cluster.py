"""The options that name a namespace of a Kubernetes cluster, and the login there."""

from __future__ import annotations

import asyncio
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmcp.cli.stop import ExitCode, Stop
from vmcp.clock import SystemClock
from vmcp.discovery.choice import Choice

if TYPE_CHECKING:
    from vmcp.discovery.kubernetes import Place
    from vmcp.kube.access import Login

Kubernetes = Annotated[
    bool,
    typer.Option(
        "--kubernetes",
        help="Follow the custom resources of a namespace: VMCP_NAME, or --name, is the VirtualMCPServer, "
        "VMCP_NAMESPACE, or --namespace, where it is.",
    ),
]
Context = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="With --kubernetes: a context of kubeconfig."),
]
Status = Annotated[
    bool | None,
    typer.Option(
        "--status/--no-status",
        help="With --kubernetes: write what is found into the status of the VirtualMCPServer. "
        "Pods do, unless told not to; with a kubeconfig nobody does, unless told to.",
    ),
]


def place(
    gateway: str | None, group: str | None, namespace: str | None, *, allows_loopback: bool
) -> Place:
    """Return what options and variables choose; raise Stop where it is not enough, or too much."""
    if find_spec("kubernetes_asyncio") is None:
        raise Stop(
            "--kubernetes needs the extra kubernetes: pip install 'vmcp[kubernetes]'.",
            ExitCode.USAGE,
        )
    from vmcp.discovery.kubernetes import Place

    if gateway is not None and group is not None:
        raise Stop("--name and --group do not go together.", ExitCode.USAGE)
    if group is None:
        gateway = gateway or _variable("VMCP_NAME")
    namespace = namespace or _variable("VMCP_NAMESPACE")
    if (gateway, group) == (None, None):
        raise Stop(
            "--kubernetes needs the name of a VirtualMCPServer (--name or VMCP_NAME), or a --group.",
            ExitCode.USAGE,
        )
    if namespace is None:
        raise Stop("--kubernetes needs --namespace or VMCP_NAMESPACE.", ExitCode.USAGE)
    return Place(namespace, Choice(gateway, group, namespace, allows_loopback))


def login(context: str | None) -> Login:
    """Return the login that works here: a pod's own, else that of kubectl; raise Stop where there is none."""
    from vmcp.kube.errors import CannotLogIn
    from vmcp.kube.login import SERVICE_ACCOUNT, ByKubeconfig, InCluster

    host, port = _variable("KUBERNETES_SERVICE_HOST"), _variable("KUBERNETES_SERVICE_PORT")
    files = _variable("KUBECONFIG")
    is_pod = host is not None and port is not None and SERVICE_ACCOUNT.is_dir()
    found: Login
    if host is not None and port is not None and is_pod and context is None and files is None:
        found = InCluster(host, port, SERVICE_ACCOUNT)
    else:
        usual = str(Path.home() / ".kube" / "config")
        found = ByKubeconfig(files or usual, context, SystemClock())
    try:
        asyncio.run(_tried(found))
    except CannotLogIn as error:
        raise Stop(str(error), ExitCode.FAILED) from None
    return found


async def _tried(found: Login) -> None:
    await found.renew()


def _variable(name: str) -> str | None:
    return os.environ.get(name) or None
