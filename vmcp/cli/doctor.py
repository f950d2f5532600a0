"""`vmcp doctor`: each backend step by step, and this machine, with what to do about each failure."""

from __future__ import annotations

from typing import Annotated

import typer

from vmcp.cli import completion
from vmcp.cli.files import AnyConfigFile, McpJson
from vmcp.cli.output import TextFormat

SECONDS = 15.0

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[BACKEND]...",
        help="Only these backends; all if none is named.",
        autocompletion=completion.backends,
    ),
]
Wait = Annotated[
    float,
    typer.Option("--timeout", min=0.1, metavar="SECONDS", help="The time of each backend."),
]
Printed = Annotated[TextFormat, typer.Option("--output", "-o", help="How to print it.")]


def doctor(
    names: Names = None,
    *,
    config: AnyConfigFile = None,
    mcp_json: McpJson = None,
    timeout: Wait = SECONDS,
    printed: Printed = TextFormat.TEXT,
) -> None:
    """Look at each backend step by step, and at this machine: times, failures, what to do.

    Over HTTP the steps are: proxy (where one is used), dns, tcp, tls, http, protocol, list, ping; over stdio:
    command, protocol, list, ping. The first that fails is the last; backends do not wait for each other.

    Exit codes: 1 a step failed (a warning is no failure), 2 the file or a name is wrong.
    """
    from vmcp.cli import configuration, examining

    examining.examine(configuration.sources(config, mcp_json), names or (), timeout, printed)
