"""The options that name a config file, and say what it may hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_FILE = Path("vmcp.yaml")
_ENDINGS = (".yaml", ".yml")


def proposed(incomplete: str) -> list[str]:
    """Return the folders and the files of YAML that a beginning may lead to; no shell is relied on for that."""
    folder, _, begins = incomplete.rpartition("/")
    base = f"{folder}/" if "/" in incomplete else ""
    try:
        found = sorted(Path(base or ".").iterdir())
    except OSError:
        return []
    fitting = [each for each in found if each.name.startswith(begins)]
    return [
        f"{base}{each.name}{'/' if each.is_dir() else ''}"
        for each in fitting
        if each.suffix in _ENDINGS or (each.is_dir() and not each.name.startswith("."))
    ]


ConfigFile = Annotated[
    Path,
    typer.Option(
        "--config", "-c", metavar="FILE", help="The config file.", autocompletion=proposed
    ),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure-anonymous", help="Allow a gateway that lets everybody on the network in."
    ),
]
