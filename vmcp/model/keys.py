"""The identity of an object that a source knows: kind, namespace, name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """Identify one object; `namespace` is empty where the source has none."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        """Write it as people name it: `kind/name`, with the namespace where there is one."""
        return (
            f"{self.kind}/{self.namespace}/{self.name}"
            if self.namespace
            else f"{self.kind}/{self.name}"
        )
