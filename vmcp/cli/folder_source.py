"""The source of a folder that a command names."""

from __future__ import annotations

from vmcp.cli.stop import ExitCode, Stop
from vmcp.config.load import Loaded
from vmcp.discovery.choice import Folder
from vmcp.discovery.manifests import ManifestsSource
from vmcp.latest import Latest


def source(chosen: Folder, loaded: Latest[Loaded]) -> ManifestsSource:
    """Return the source of a folder; raise Stop where it cannot be read."""
    try:
        return ManifestsSource(chosen, loaded)
    except OSError as error:
        raise Stop(f"{chosen.path} cannot be read: {error.strerror}.", ExitCode.USAGE) from None
