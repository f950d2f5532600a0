"""`vmcp validate`: what is wrong with a config file, and with live backends."""

from __future__ import annotations

from typing import Annotated

import typer

from vmcp.cli import folder
from vmcp.cli.files import AnyConfigFile, Insecure, McpJson
from vmcp.cli.folder import GatewayName, Group, Loopback, Manifests, Namespace
from vmcp.cli.output import TableFormat

LIVE_SECONDS = 15.0

Live = Annotated[bool, typer.Option("--live", help="Connect to all backends and list them.")]
Wait = Annotated[
    float,
    typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Wait this long for backends."),
]
Printed = Annotated[TableFormat, typer.Option("--output", "-o", help="How to print it.")]


def validate(  # noqa: PLR0913 (each option is one)
    *,
    config: AnyConfigFile = None,
    mcp_json: McpJson = None,
    manifests: Manifests = None,
    name: GatewayName = None,
    group: Group = None,
    namespace: Namespace = None,
    allow_loopback_backends: Loopback = False,
    live: Live = False,
    timeout: Wait = LIVE_SECONDS,
    insecure_anonymous: Insecure = False,
    printed: Printed = TableFormat.TABLE,
) -> None:
    """Check a config file or a folder of manifests, and with --live its backends.

    Exit codes: 1 a backend cannot be reached or something of it is wrong, an object of a folder included;
    2 the config file is wrong.
    """
    chosen = folder.choice(
        manifests, name, group, namespace, allows_loopback=allow_loopback_backends
    )
    from vmcp.cli import checking, configuration

    load = configuration.loading(may_be_exposed=insecure_anonymous)
    sources = configuration.sources(config, mcp_json, folder=manifests)
    if live:
        checking.check_live(sources, timeout, printed, load, chosen)
    else:
        checking.check(sources, printed, load, chosen)
