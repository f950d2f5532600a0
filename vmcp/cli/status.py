"""`vmcp status`: how a running gateway is."""

from __future__ import annotations

from typing import Annotated

import typer

from vmcp.cli.operations import DEFAULT_OPS_URL, OpsUrl
from vmcp.cli.output import TableFormat

Printed = Annotated[TableFormat, typer.Option("--output", "-o", help="How to print it.")]


def status(*, ops_url: OpsUrl = DEFAULT_OPS_URL, printed: Printed = TableFormat.TABLE) -> None:
    """Show how a running gateway is: its config, its backends, its problems.

    `--output json` prints /status as it is. 'watch vmcp status' shows it again and again.

    Exit codes: 0 it is ready, all backends are well and the config file is in force; 1 one of these is not so;
    3 no gateway answers. A backend that wants a user's credential is well; problems are shown and do not
    count, but that there is no VirtualMCPServer or no group to serve.
    """
    from vmcp.cli import state

    state.show(ops_url, printed)
