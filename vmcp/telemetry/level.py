"""The level from which on log lines are written; it can change while the gateway runs."""

from __future__ import annotations

import logging

OUR_LOGGER = "vmcp"
LEVELS = ("debug", "info", "warning", "error")


def set_level(level: str) -> None:
    """Write our lines from `level` on, those of libraries from warning on."""
    ours = logging.getLevelNamesMapping()[level.upper()]
    logging.getLogger().setLevel(max(ours, logging.WARNING))
    logging.getLogger(OUR_LOGGER).setLevel(ours)


def level() -> str:
    """Return the level from which on our lines are written."""
    return logging.getLevelName(logging.getLogger(OUR_LOGGER).getEffectiveLevel()).lower()
