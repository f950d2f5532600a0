"""The `vmcp` command: its subcommands, and how each of them ends.

Nothing heavy is imported before a command runs, so that help and completion stay fast.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer

import vmcp
from vmcp.cli import output
from vmcp.cli.call import call
from vmcp.cli.crds import crds
from vmcp.cli.diff import diff
from vmcp.cli.doctor import doctor
from vmcp.cli.explain import explain
from vmcp.cli.init import init
from vmcp.cli.key import key
from vmcp.cli.prompts import prompts
from vmcp.cli.reload import reload
from vmcp.cli.resources import resources
from vmcp.cli.schema import schema
from vmcp.cli.serve import serve
from vmcp.cli.status import status
from vmcp.cli.stop import ExitCode, Stop
from vmcp.cli.tools import tools
from vmcp.cli.validate import validate

COMMANDS = (
    *(serve, status, explain, doctor, reload),
    *(tools, prompts, resources, call),
    *(validate, diff, init, key, schema, crds),
)

app = typer.Typer(
    name="vmcp",
    help="One URL for many MCP servers.",
    no_args_is_help=True,
    # Its tracebacks show the values of variables, secrets included.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run one command and return its exit code; what a Stop says goes to standard error."""
    # Lone surrogates in a server's JSON must not end in an error of encoding.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(words, prog_name="vmcp")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.OK
    except Stop as stop:
        if stop.message:
            output.remark(stop.message)
        return stop.code
    finally:
        output.close()
    return ExitCode.OK


def _show_version(is_wanted: bool) -> None:  # noqa: FBT001 - typer's own form
    if is_wanted:
        output.emit(f"vmcp {vmcp.__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
]


@app.callback()
def options(*, version: Version = False) -> None:
    """One URL for many MCP servers."""
