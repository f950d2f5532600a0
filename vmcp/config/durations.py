"""Durations as Go writes them: `1m30s`, `500ms`, `1h`."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

_UNITS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),  # U+00B5, micro sign
    "μs": Fraction(1, 10**6),  # U+03BC, Greek letter mu
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_PART = rf"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:{'|'.join(_UNITS)})"
_MAX_LENGTH = 64

PATTERN = rf"^(?:{_PART})+$"
_WHOLE = re.compile(PATTERN)
_PARTS = re.compile(rf"([0-9.]+)({'|'.join(_UNITS)})")


def seconds(text: str) -> float:
    """Return the seconds of a duration; raise ValueError for anything else, bare numbers too."""
    if len(text) > _MAX_LENGTH or _WHOLE.fullmatch(text) is None:
        raise ValueError("not a duration")
    parts = _PARTS.findall(text)
    return float(sum(Fraction(Decimal(number)) * _UNITS[unit] for number, unit in parts))
