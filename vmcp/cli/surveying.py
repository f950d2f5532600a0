"""Open all backends of a config once, for the commands that look at them without a running gateway."""

from __future__ import annotations

import asyncio
import logging
import os

from vmcp.assembly import Beside, Survey, survey
from vmcp.cli.folders import sources
from vmcp.clock import SystemClock
from vmcp.config.load import Loaded
from vmcp.discovery.choice import Folder
from vmcp.discovery.reload import LiveConfig


def surveyed(loaded: Loaded, seconds: float, chosen: Folder | None = None) -> Survey:
    """Return what there is within a time; the log stays silent, for the commands tell what goes wrong."""
    live = LiveConfig(lambda: loaded, loaded, SystemClock())
    logging.lastResort = logging.NullHandler()
    return asyncio.run(survey(live, os.environ, seconds, Beside(sources(chosen, loaded))))
