"""`vmcp explain`: what a name means, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmcp.cli import completion
from vmcp.cli.files import McpJson, proposed
from vmcp.cli.operations import DEFAULT_OPS_URL, OpsUrl
from vmcp.cli.output import TextFormat

LIVE_SECONDS = 15.0

Name = Annotated[
    str,
    typer.Argument(
        help="A tool, a prompt or a URI: as clients know it, or as its backend does.",
        autocompletion=completion.all_names,
    ),
]
File = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="Ask no running gateway: open the backends of this file once.",
        autocompletion=proposed,
    ),
]
Wait = Annotated[
    float,
    typer.Option(
        "--timeout", min=0.1, metavar="SECONDS", help="With files: wait this long for backends."
    ),
]
Printed = Annotated[TextFormat, typer.Option("--output", "-o", help="How to print it.")]


def explain(
    name: Name,
    *,
    ops_url: OpsUrl = DEFAULT_OPS_URL,
    config: File = None,
    mcp_json: McpJson = None,
    timeout: Wait = LIVE_SECONDS,
    printed: Printed = TextFormat.TEXT,
) -> None:
    """Tell where a name leads and which rule gave it, or why no client sees it.

    The name may also be the one that a backend uses itself, or one before it was overridden or shortened.

    Exit codes: 0 clients see it, 1 they do not, 2 wrong usage, 3 no gateway answers, 4 nobody knows it (near
    names are proposed).
    """
    if config is None and not mcp_json:
        from vmcp.cli import explaining

        explaining.ask(ops_url, name, printed)
        return
    from vmcp.cli import configuration, foreseeing

    foreseeing.find_out(configuration.sources(config, mcp_json), timeout, name, printed)
