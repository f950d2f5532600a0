"""What pydantic finds wrong with a custom resource, in the words of all faults."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from vmcp.config import durations
from vmcp.config.faults import FAULT, Fault, Place, kind, near, shown

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "dataclass_type": "a mapping",
}
_BOUNDS = {"ge": "at least", "le": "at most"}
_PATTERNS = {
    durations.PATTERN: "a duration such as 500ms, 45s or 1m30s",
    "^https?://": "a URL that begins with http:// or https://",
    "^https://": "a URL that begins with https://",
}


def faults_of(error: ValidationError) -> tuple[Fault, ...]:
    """Return what a failed reading found, in the order of the fields."""
    return tuple(_fault(details) for details in error.errors(include_url=False))


def _fault(details: ErrorDetails) -> Fault:
    place, given = details["loc"], details["input"]
    context = details.get("ctx", {})
    match details["type"]:
        case known if known == FAULT:
            return Fault(place=place, **context)
        case "missing":
            return Fault(place, "Is required.")
        case "literal_error":
            return _no_choice(place, given, str(context["expected"]))
        case other if other in _KINDS:
            return _wrong_kind(place, given, _KINDS[other])
        case other:
            return _out_of_bounds(place, given, other, context)


def _out_of_bounds(place: Place, given: object, what: str, context: Mapping[str, object]) -> Fault:
    match what:
        case "string_pattern_mismatch":
            # Never shown: URLs hold tokens often enough.
            pattern = str(context["pattern"])
            allowed = _PATTERNS.get(pattern, f"text that matches {pattern}")
            return Fault(place, "Is not written as it must be.", kind(given), allowed)
        case "string_too_short" | "string_too_long" | "too_short" | "too_long":
            return _wrong_length(place, given, what, context)
        case _:
            allowed = ", ".join(f"{_BOUNDS[name]} {value}" for name, value in context.items())
            return Fault(place, "Is out of range.", shown(given), allowed)


def _no_choice(place: Place, given: object, expected: str) -> Fault:
    choices = expected.replace("' or '", "', '").strip("'").split("', '")
    return Fault(
        place,
        "Is none of the allowed values.",
        shown(given),
        ", ".join(repr(choice) for choice in choices),
        near(given, choices),
    )


def _wrong_length(place: Place, given: object, what: str, context: Mapping[str, object]) -> Fault:
    word = "characters" if what.startswith("string") else "entries"
    if what.endswith("short"):
        return Fault(
            place, f"Has too few {word}.", kind(given), f"at least {context['min_length']}"
        )
    return Fault(place, f"Has too many {word}.", kind(given), f"at most {context['max_length']}")


def _wrong_kind(place: Place, given: object, expected: str) -> Fault:
    is_number = isinstance(given, bool | int | float)
    return Fault(
        place,
        f"Must be {expected}.",
        kind(given),
        suggestion="Put it in quotes." if is_number and expected == "text" else None,
    )
