"""What `vmcp explain` tells without a running gateway: the catalog is made for the purpose."""

from __future__ import annotations

from vmcp.catalog.explain import explain
from vmcp.cli import configuration
from vmcp.cli.explaining import tell
from vmcp.cli.output import TextFormat
from vmcp.cli.surveying import surveyed
from vmcp.config.load import Sources, load_all
from vmcp.gateway.explaining import facts


def find_out(named: Sources, seconds: float, name: str, printed: TextFormat) -> None:
    """Open the backends of a config once and explain a name; raise Stop where clients would not see it."""
    is_text = printed is TextFormat.TEXT
    read = configuration.read_all if is_text else configuration.read_all_for_programs
    seen = surveyed(read(named, load_all), seconds)
    found = explain(seen.snapshot, seen.inventories, seen.catalog, name)
    troubles = {key.name: message for key, message in seen.troubles.items()}
    silent = {
        backend.name: "It did not answer in time."
        for backend in seen.snapshot.backends
        if backend.key not in seen.inventories
    }
    tell(facts(found), {**silent, **troubles}, printed)
