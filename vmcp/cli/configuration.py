"""The config file of the commands that use one, and what options put over it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType

from vmcp.cli import output
from vmcp.cli.stop import ExitCode, Stop
from vmcp.config.errors import ConfigInvalid
from vmcp.config.exposure import load_closed
from vmcp.config.load import Loaded, load
from vmcp.config.parse import Options

Load = Callable[[Path, Mapping[str, str], Options], Loaded]


def loading(*, may_be_exposed: bool) -> Load:
    """Return what loads a config; one that lets everybody in is refused unless it may."""
    return load if may_be_exposed else load_closed


def read(file: Path, options: Options = MappingProxyType({}), load: Load = load) -> Loaded:
    """Load a config file, with options in the place of some keys; raise Stop with all its errors in words."""
    try:
        return load(file, os.environ, options)
    except ConfigInvalid as error:
        hint = "" if file.exists() else f"\n'vmcp init {file}' writes one to start from."
        raise Stop(f"{error}{hint}", ExitCode.USAGE) from None


def read_for_programs(file: Path, load: Load = load) -> Loaded:
    """Load a config file; print its errors as JSON and raise Stop."""
    try:
        return load(file, os.environ, MappingProxyType({}))
    except ConfigInvalid as error:
        output.emit_json({"ok": False, "errors": [asdict(one) for one in error.errors]})
        raise Stop("", ExitCode.USAGE) from None
