"""`vmcp validate`: what is wrong with a config file, and with live backends."""

from __future__ import annotations

from typing import Annotated

import typer

from vmcp.cli.files import AnyConfigFile, Insecure, McpJson
from vmcp.cli.output import TableFormat

LIVE_SECONDS = 15.0

Live = Annotated[bool, typer.Option("--live", help="Connect to all backends and list them.")]
Wait = Annotated[
    float,
    typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Wait this long for backends."),
]
Printed = Annotated[TableFormat, typer.Option("--output", "-o", help="How to print it.")]


def validate(
    *,
    config: AnyConfigFile = None,
    mcp_json: McpJson = None,
    live: Live = False,
    timeout: Wait = LIVE_SECONDS,
    insecure_anonymous: Insecure = False,
    printed: Printed = TableFormat.TABLE,
) -> None:
    """Check a config file, and with --live its backends.

    Exit codes: 1 a backend cannot be reached or something of it is wrong, 2 the file is wrong.
    """
    from vmcp.cli import checking, configuration

    load = configuration.loading(may_be_exposed=insecure_anonymous)
    sources = configuration.sources(config, mcp_json)
    if live:
        checking.check_live(sources, timeout, printed, load)
    else:
        checking.check(sources, printed, load)
