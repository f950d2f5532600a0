"""The files of which commands make a config, and what options put over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType

from vmcp.cli import output
from vmcp.cli.files import DEFAULT_FILE
from vmcp.cli.stop import ExitCode, Stop
from vmcp.config.errors import ConfigInvalid
from vmcp.config.exposure import load_closed
from vmcp.config.load import Loaded, Sources, load_all
from vmcp.config.parse import Options

Load = Callable[[Sources, Mapping[str, str]], Loaded]


def loading(*, may_be_exposed: bool) -> Load:
    """Return what loads a config; one that lets everybody in is refused unless it may."""
    return load_all if may_be_exposed else load_closed


def sources(
    config: Path | None,
    mcp_json: Sequence[Path] | None,
    options: Options = MappingProxyType({}),
    folder: Path | None = None,
    namespace: str | None = None,
) -> Sources:
    """Return what the options name, a namespace of a cluster among them; without any the usual config file."""
    elsewhere = () if folder is None else (str(folder),)
    if namespace is not None:
        elsewhere = (f"namespace {namespace}",)
    is_any = config is not None or mcp_json or elsewhere
    return Sources(
        config if is_any else DEFAULT_FILE,
        tuple(mcp_json or ()),
        options,
        elsewhere,
        is_discovered=namespace is not None,
    )


def read_all(named: Sources, load: Load) -> Loaded:
    """Load a config; raise Stop with all its errors in words."""
    try:
        return load(named, os.environ)
    except ConfigInvalid as error:
        is_missing = named.file is not None and not named.file.exists()
        hint = f"\n'vmcp init {named.file}' writes one to start from." if is_missing else ""
        raise Stop(f"{error}{hint}", ExitCode.USAGE) from None


def read_all_for_programs(named: Sources, load: Load) -> Loaded:
    """Load a config; print its errors as JSON and raise Stop."""
    try:
        return load(named, os.environ)
    except ConfigInvalid as error:
        output.emit_json({"ok": False, "errors": [asdict(one) for one in error.errors]})
        raise Stop("", ExitCode.USAGE) from None
