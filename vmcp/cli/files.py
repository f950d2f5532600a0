"""The options that name a config file, and say what it may hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_FILE = Path("vmcp.yaml")


def proposed(incomplete: str) -> list[str]:
    """Return the folders and the files of YAML that a beginning may lead to; no shell is relied on for that."""
    return _fitting(incomplete, (".yaml", ".yml"))


def _fitting(incomplete: str, endings: tuple[str, ...]) -> list[str]:
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
        if each.suffix in endings or (each.is_dir() and not each.name.startswith("."))
    ]


def proposed_json(incomplete: str) -> list[str]:
    """Return the folders and the files of JSON that a beginning may lead to."""
    return _fitting(incomplete, (".json",))


AnyConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help=f"The config file; {DEFAULT_FILE} unless --mcp-json is given.",
        autocompletion=proposed,
    ),
]
McpJson = Annotated[
    list[Path] | None,
    typer.Option(
        "--mcp-json",
        metavar="FILE",
        help="A JSON file of a desktop client, whose servers are backends too; repeatable.",
        autocompletion=proposed_json,
    ),
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
