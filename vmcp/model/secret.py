"""A value that must never be printed."""

from __future__ import annotations

from typing import final


@final
class Secret:
    """Hold a secret text; only `reveal()` gives it out, where bytes leave the process."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the secret itself."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a Secret is never pickled")
