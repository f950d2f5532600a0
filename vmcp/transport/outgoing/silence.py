"""The findings of a client that has retired: nobody takes them."""

from __future__ import annotations

from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey


class Silence:
    """Take findings and tell nobody (the port `Findings`)."""

    def listed(self, inventory: Inventory) -> None:
        """Drop the lists of a backend."""

    def failed(self, backend: ObjectKey, reason: str, message: str) -> None:
        """Drop a failure."""

    def resource_updated(self, backend: ObjectKey, uri: str, params: bytes) -> None:
        """Drop an update of a resource."""
