"""What a report says of itself to operators of the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Told:
    """Whether this gateway writes the status, when it did last, and what keeps it from that; empty if nothing."""

    is_leader: bool = False
    written_at: datetime | None = None
    error: str = ""
    lease_error: str = ""

    def shown(self) -> Mapping[str, object]:
        """Return it as JSON."""
        errors = {"error": self.error, "leaseError": self.lease_error}
        return {
            "leader": self.is_leader,
            "lastWrite": self.written_at,
            **{key: value for key, value in errors.items() if value},
        }
