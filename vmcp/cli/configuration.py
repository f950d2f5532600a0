"""The config file of the commands that use one, and what options put over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import ValidationError

from vmcp.cli import output
from vmcp.cli.stop import ExitCode, Stop
from vmcp.config.errors import ConfigInvalid
from vmcp.config.load import Loaded, load
from vmcp.config.section import faults_of
from vmcp.config.serving import ServerSettings


def read(file: Path) -> Loaded:
    """Load a config file; raise Stop with all its errors in words."""
    try:
        return load(file, os.environ)
    except ConfigInvalid as error:
        hint = "" if file.exists() else f"\n'vmcp init {file}' writes one to start from."
        raise Stop(f"{error}{hint}", ExitCode.USAGE) from None


def read_for_programs(file: Path) -> Loaded:
    """Load a config file; print its errors as JSON and raise Stop."""
    try:
        return load(file, os.environ)
    except ConfigInvalid as error:
        output.emit_json({"ok": False, "errors": [asdict(one) for one in error.errors]})
        raise Stop("", ExitCode.USAGE) from None


def override(loaded: Loaded, options: Mapping[str, object]) -> Loaded:
    """Return the config with some keys of `server` replaced; None leaves a key as it is."""
    given = {key: value for key, value in options.items() if value is not None}
    kept = loaded.config.server.model_dump(by_alias=True, exclude_unset=True)
    try:
        server = ServerSettings.model_validate({**kept, **given})
    except ValidationError as error:
        faults = [f"{fault.place[0]}: {fault.message}" for fault in faults_of(error)]
        raise Stop("\n".join(faults), ExitCode.USAGE) from None
    return replace(loaded, config=loaded.config.model_copy(update={"server": server}))
