"""`vmcp init`: a config file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vmcp.cli import output
from vmcp.cli.files import DEFAULT_FILE
from vmcp.cli.stop import ExitCode, Stop

File = Annotated[Path, typer.Argument(help="The file to write.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")]


def init(file: File = DEFAULT_FILE, *, force: Force = False) -> None:
    """Write a commented config file to start from."""
    from vmcp.config.starter import starter

    try:
        # The mode x refuses in one step, so that no file of another program is lost.
        with file.open("w" if force else "x", encoding="utf-8") as written:
            written.write(starter())
    except FileExistsError:
        message = f"{file} exists: give another name, or --force to overwrite it."
        raise Stop(message, ExitCode.USAGE) from None
    except OSError as error:
        raise Stop(f"{file} cannot be written: {error.strerror}.", ExitCode.USAGE) from None
    output.emit(f"{file} is written. Check it with: vmcp validate -c {file}")
