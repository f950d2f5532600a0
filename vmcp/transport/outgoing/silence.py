"""The findings of a client that has retired: nobody takes them."""

from __future__ import annotations

from vmcp.gateway.vitals import Vitals
from vmcp.model.health import Stage
from vmcp.model.inventory import Inventory
from vmcp.model.keys import ObjectKey
from vmcp.protocol.failures import BackendFailed


class Silence:
    """Take findings and tell nobody (the port `Findings`)."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals

    def listed(self, inventory: Inventory) -> None:
        """Drop the lists of a backend."""

    def checked(self, backend: ObjectKey) -> None:
        """Drop the answer to a check."""

    def failed(self, backend: ObjectKey, stage: Stage, failure: BackendFailed) -> None:
        """Drop a failure."""

    def vitals(self, backend: ObjectKey) -> Vitals:  # noqa: ARG002
        """Return those of whoever has retired."""
        return self._vitals

    def resource_updated(self, backend: ObjectKey, uri: str, params: bytes) -> None:
        """Drop an update of a resource."""
