"""`vmcp key`: a fresh API key, and the line by which the gateway knows it."""

from __future__ import annotations

from typing import Annotated

import typer

from vmcp.cli import output
from vmcp.cli.stop import ExitCode, Stop

_KEY_BYTES = 32

Name = Annotated[str, typer.Argument(help="Whose key it is: the log shows this name.")]


def key(name: Name) -> None:
    """Make an API key: it is shown once, on standard error; standard output has its line for keysFile.

    vmcp key ada >> keys.txt
    """
    import secrets

    from vmcp.config import keysfile

    if not keysfile.is_name(name):
        raise Stop(
            "A name has at most 63 letters, digits and ._@+-, with a letter or a digit first.",
            ExitCode.USAGE,
        )
    # The beginning tells scanners for leaked secrets what they have found.
    made = f"vmcp_{secrets.token_urlsafe(_KEY_BYTES)}"
    output.emit(keysfile.line(name, made))
    output.remark(f"The key of {name}, which is not shown again:\n{made}")
