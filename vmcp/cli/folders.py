"""What a config and a folder of manifests say together, as the running gateway would see it."""

from __future__ import annotations

from collections.abc import Sequence

from vmcp.cli.folder_source import source
from vmcp.config.load import Loaded
from vmcp.discovery.choice import Folder
from vmcp.discovery.source import Source
from vmcp.discovery.static import contribution
from vmcp.gateway.registry import merge
from vmcp.latest import Latest
from vmcp.model.snapshot import Snapshot


def sources(chosen: Folder | None, loaded: Loaded) -> Sequence[Source]:
    """Return the sources beside the config; raise Stop where a folder cannot be read."""
    return () if chosen is None else (source(chosen, Latest(loaded)),)


def snapshot(chosen: Folder | None, loaded: Loaded) -> Snapshot:
    """Return what would be served, without connecting to anything."""
    others = [each.contribution.value for each in sources(chosen, loaded)]
    return merge({each.source: each for each in (contribution(loaded), *others)})
