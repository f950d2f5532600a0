"""The option that names a config file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_FILE = Path("vmcp.yaml")

ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", metavar="FILE", help="The config file.")
]
