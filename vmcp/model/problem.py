"""What is wrong with an object, for the one who owns it."""

from __future__ import annotations

from dataclasses import dataclass

from vmcp.model.keys import ObjectKey


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Say what is wrong: `reason` is CamelCase for programs, `message` a sentence for people."""

    key: ObjectKey
    reason: str
    message: str
