"""Reading a tree that may be wrong anywhere: what is of another kind counts as empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def mapping(value: object, *keys: str) -> Mapping[str, object]:
    """Return the mapping below the keys, an empty one if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def sequence(value: object, *keys: str) -> Sequence[object]:
    """Return the list below the keys, an empty one if there is none."""
    *path, last = keys
    found = mapping(value, *path).get(last)
    return found if isinstance(found, list) else []


def texts(value: object, *keys: str) -> list[tuple[int, str]]:
    """Return the texts of the list below the keys, each with its index."""
    return [(i, one) for i, one in enumerate(sequence(value, *keys)) if isinstance(one, str)]
