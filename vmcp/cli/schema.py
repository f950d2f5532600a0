"""`vmcp schema`: the JSON Schema of the config file."""

from __future__ import annotations

from vmcp.cli import output


def schema() -> None:
    """Print the JSON Schema of the config file, for editors."""
    from vmcp.config.schema import json_schema

    output.emit_json(json_schema())
