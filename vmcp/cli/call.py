"""`vmcp call`: one call of a tool of a running server."""

from __future__ import annotations

from typing import Annotated

import typer

from vmcp.cli import completion
from vmcp.cli.output import TextFormat
from vmcp.cli.target import (
    DEFAULT_URL,
    CaFile,
    ChosenEra,
    EraChoice,
    Headers,
    Seconds,
    Url,
    aim,
)

CALL_SECONDS = 300.0

Name = Annotated[
    str,
    typer.Argument(
        help="The tool's name, as 'vmcp tools' lists it.", autocompletion=completion.tools
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME=VALUE]...", help="Arguments; NAME:=JSON for raw JSON."),
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="OBJECT|@FILE|-", help="All arguments as one JSON object."),
]
Printed = Annotated[TextFormat, typer.Option("--output", "-o", help="How to print the result.")]


def call(  # noqa: PLR0913 - a parameter is an option here
    name: Name,
    words: Words = None,
    *,
    json: Json = None,
    url: Url = DEFAULT_URL,
    era: ChosenEra = EraChoice.AUTO,
    timeout: Seconds = CALL_SECONDS,
    header: Headers = None,
    ca_file: CaFile = None,
    printed: Printed = TextFormat.TEXT,
) -> None:
    """Call a tool: vmcp call add a=1 b=2.

    Values take the types of the tool's input schema. Exit codes: 1 the tool reports an error,
    2 wrong usage, 3 no connection, or an error in the place of a result, 4 unknown tool.
    """
    target = aim(url, era, timeout, header, ca_file)
    from vmcp.cli import calling

    given = None if json is None else calling.read_json(json)
    calling.call(target, calling.Wanted(name, words or (), given), printed)
