"""What the shell proposes for names: those of a running gateway, or of the config file; quickly or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from vmcp.cli import operations
from vmcp.cli.files import DEFAULT_FILE
from vmcp.cli.operations import DEFAULT_OPS_URL
from vmcp.cli.stop import Stop

# A person waits for it: without an answer by then there is none.
_SECONDS = 0.5


def tools(incomplete: str) -> list[str]:
    """Return the names of tools that begin with a text."""
    return _names(incomplete, kind="tool")


def all_names(incomplete: str) -> list[str]:
    """Return the names of tools and prompts, and the URIs, that begin with a text."""
    return _names(incomplete)


def backends(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the backends of the config file that begin with a text."""
    file = ctx.params.get("config") or DEFAULT_FILE
    found = sorted(_configured(Path(file)) - set(ctx.params.get("names") or ()))
    return [name for name in found if name.startswith(incomplete)]


def _names(incomplete: str, **narrowed: str) -> list[str]:
    import os

    base = os.environ.get("VMCP_OPS_URL", DEFAULT_OPS_URL)
    query = {"show": "listed", "search": incomplete, **narrowed}
    try:
        rows = operations.get_soon(base, "/status/catalog", _SECONDS, query)["rows"]
        names = [str(row["name"]) for row in rows]
    except (Stop, KeyError, TypeError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def _configured(file: Path) -> set[str]:
    import yaml

    try:
        found = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return set()
    listed = found.get("backends") if isinstance(found, Mapping) else None
    each = listed if isinstance(listed, list) else []
    return {str(one["name"]) for one in each if isinstance(one, Mapping) and "name" in one}
