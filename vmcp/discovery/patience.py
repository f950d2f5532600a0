"""How long a change waits for what it is the first to refer to."""

from __future__ import annotations

from vmcp.model.keys import ObjectKey

Keys = frozenset[ObjectKey]


class Patience:
    """Decide whether changes are held back for what may be known in a moment, for so many seconds at most.

    What was waited for in vain holds up nothing more until it has been known once.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._overdue: Keys = frozenset()
        self.until: float | None = None

    def holds(self, unknown: Keys, now: float) -> bool:
        """Tell whether to hold back what is known now; `until` is when to ask again at the latest."""
        self._overdue &= unknown
        if unknown - self._overdue:
            if self.until is None:
                self.until = now + self._seconds
            if now < self.until:
                return True
        self._overdue, self.until = unknown, None
        return False
