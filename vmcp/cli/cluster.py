"""The options that name a namespace of a Kubernetes cluster, and the login there."""

from __future__ import annotations

import asyncio
import os
import re
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


# As the API server has names: a namespace is one label, an object may be several, and a path leads nowhere else.
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_NAMESPACE, _NAME = re.compile(_LABEL), re.compile(rf"{_LABEL}(\.{_LABEL})*")


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
    _check("namespace", namespace, _NAMESPACE)
    _check("object", gateway or group or "", _NAME)
    return Place(namespace, Choice(gateway, group, namespace, allows_loopback))


def _check(what: str, name: str, allowed: re.Pattern[str]) -> None:
    if allowed.fullmatch(name) is None:
        raise Stop(
            f"No {what} can have the name {name!r}. Allowed: lowercase letters, digits and '-'.",
            ExitCode.USAGE,
        )


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
        is_bare = host is not None and not SERVICE_ACCOUNT.is_dir() and files is None
        hint = " This pod has no token: is automountServiceAccountToken false?" if is_bare else ""
        raise Stop(f"{error}{hint}", ExitCode.FAILED) from None
    return found


async def _tried(found: Login) -> None:
    from vmcp.kube.client import ApiServer

    server = ApiServer(found, SystemClock())
    try:
        await server.log_in()
    finally:
        await server.close()


def _variable(name: str) -> str | None:
    return os.environ.get(name) or None
