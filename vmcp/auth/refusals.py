"""Requests without a known credential, told in the log at a rate that nobody can raise."""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)

_SECONDS = 60.0

Now = Callable[[], float]


class Refusals:
    """Count the requests that are refused; a line tells of the first one, then one a minute of all since."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._untold = 0
        self._told_at: float | None = None
        self.count = 0

    def add(self, address: str) -> None:
        """Take note of a refused request and of where it came from."""
        self.count += 1
        self._untold += 1
        now = self._now()
        if self._told_at is not None and now - self._told_at < _SECONDS:
            return
        log.warning(
            "requests without a known credential are refused",
            extra={"refused": self._untold, "client": address},
        )
        self._untold, self._told_at = 0, now
