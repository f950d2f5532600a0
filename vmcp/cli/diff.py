"""`vmcp diff`: what a folder of manifests would change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmcp.cli import folder
from vmcp.cli.folder import GatewayName, Group, Loopback, Namespace
from vmcp.cli.operations import DEFAULT_OPS_URL
from vmcp.cli.output import TextFormat
from vmcp.cli.stop import ExitCode, Stop

if TYPE_CHECKING:
    from vmcp.discovery.choice import Folder as Chosen

LIVE_SECONDS = 15.0

Folder = Annotated[
    Path, typer.Option("--manifests", metavar="DIR", help="The folder, as it is to become.")
]
Against = Annotated[
    Path | None,
    typer.Option("--against", metavar="DIR", help="Compare with this folder, not with a gateway."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="The config file beside the folder."),
]
Url = Annotated[
    str,
    typer.Option(
        "--ops-url",
        "--url",
        metavar="URL",
        envvar="VMCP_OPS_URL",
        help="The operations port of the gateway to compare with.",
    ),
]
Live = Annotated[
    bool, typer.Option("--live", help="Connect to the backends and compare their tools too.")
]
Wait = Annotated[
    float,
    typer.Option("--timeout", min=0.1, metavar="SECONDS", help="With --live: wait this long."),
]
Printed = Annotated[TextFormat, typer.Option("--output", "-o", help="How to print it.")]


def diff(  # noqa: PLR0913 (each option is one)
    *,
    manifests: Folder,
    against: Against = None,
    ops_url: Url = DEFAULT_OPS_URL,
    config: Config = None,
    name: GatewayName = None,
    group: Group = None,
    namespace: Namespace = None,
    allow_loopback_backends: Loopback = False,
    live: Live = False,
    timeout: Wait = LIVE_SECONDS,
    printed: Printed = TextFormat.TEXT,
) -> None:
    """Show what a folder of manifests would change: backends, problems and, with --live, tools.

    It is compared with a running gateway or, with --against, with another folder. Values of Secrets are not
    compared. Exit codes: 0 nothing changes, 1 something does, 2 it cannot be told.
    """
    from vmcp.cli import differing

    def chosen(path: Path) -> Chosen:
        made = folder.choice(path, name, group, namespace, allows_loopback=allow_loopback_backends)
        assert made is not None
        return made

    seconds = timeout if live else None
    try:
        if against is None:
            present = differing.of_gateway(ops_url, with_tools=live)
        else:
            present = differing.of_folder(chosen(against), config, seconds)
        asked = replace(chosen(manifests), has_operator=present.is_cluster)
        wanted = differing.of_folder(asked, config, seconds)
    except Stop as stop:
        raise Stop(stop.message, ExitCode.USAGE) from None
    differing.tell(present, wanted, printed)
