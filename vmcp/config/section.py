"""The base of every mapping in the config file: all its faults at once, each with its place.

pydantic checks the fields; its findings and what is wrong between the keys leave as one list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from vmcp.config.faults import Fault, Place, is_showable_key, kind, listing, near, shown

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
}

_SHOWN = frozenset({"text", "a whole number", "true or false"})


def _constrain(schema: dict[str, Any], section: type[Section]) -> None:
    """Say in JSON Schema that of some keys exactly one is given."""
    if section.exactly_one:
        schema["oneOf"] = [{"required": [key]} for key in section.exactly_one]


class Section(BaseModel):
    """A mapping of the config file: camelCase in the file, snake_case here.

    `later` names keys that are known, but not implemented; of those in `exactly_one` one is given. Where a
    mapping `holds_secrets`, a key that is none may be a value and is not repeated.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        json_schema_extra=_constrain,
    )

    later: ClassVar[frozenset[str]] = frozenset()
    exactly_one: ClassVar[tuple[str, ...]] = ()
    holds_secrets: ClassVar[bool] = False

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:  # noqa: ARG003
        """Yield what is wrong between the keys; a value may still be of any type."""
        yield from ()

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys that the file may use here, in the order of the fields."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="wrap")
    @classmethod
    def _report_everything(cls, given: object, build: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, Mapping):
            what = Fault(
                (),
                "Must be a mapping.",
                found=kind(given),
                allowed=f"the keys {listing(cls.keys())}",
            )
            raise _invalid(cls, [what])
        empty = [key for key, value in given.items() if value is None]
        filled = {key: value for key, value in given.items() if value is not None}
        found = [
            *(_empty(cls, key) for key in empty),
            *_choice_faults(cls, filled),
            *cls.faults(filled),
        ]
        try:
            section = build(filled)
        except ValidationError as error:
            found += [_fault(cls, details) for details in error.errors(include_url=False)]
            raise _invalid(cls, _without_echo(found, empty)) from None
        if found:
            raise _invalid(cls, found)
        return section


def faults_of(error: ValidationError) -> list[Fault]:
    """Return the faults that a failed validation of a Section carries."""
    return [
        Fault(place=details["loc"], **details["ctx"])
        for details in error.errors(include_url=False, include_input=False)
    ]


def is_given(given: Mapping[str, object], *keys: str) -> bool:
    """Tell whether any of the keys is there."""
    return any(key in given for key in keys)


def _invalid(section: type[Section], faults: Sequence[Fault]) -> ValidationError:
    return ValidationError.from_exception_data(section.__name__, [one.line() for one in faults])


def _without_echo(faults: Sequence[Fault], empty: Sequence[str]) -> list[Fault]:
    """Drop what says 'missing' of a key that was already called empty."""
    return [one for one in faults if one.place[:1] not in {(key,) for key in empty} or one.found]


def _empty(section: type[Section], key: str) -> Fault:
    if not _is_showable(section, key):
        return _odd_key()
    return Fault(
        (key,), "Has no value.", found="nothing", suggestion="Give it a value or delete the key."
    )


def _is_showable(section: type[Section], key: str) -> bool:
    if section.holds_secrets:
        return key in section.keys() or near(key, section.keys()) is not None  # noqa: SIM118
    return is_showable_key(key)


def _odd_key() -> Fault:
    return Fault(
        (),
        "Holds a key that is no name.",
        found="a key (not shown)",
        suggestion="Is a space missing behind a colon?",
    )


def _choice_faults(section: type[Section], given: Mapping[str, object]) -> Iterator[Fault]:
    if not section.exactly_one:
        return
    chosen = [key for key in section.exactly_one if key in given]
    if len(chosen) != 1:
        yield Fault(
            (),
            "Needs exactly one of several keys.",
            found=listing(chosen) or "none of them",
            allowed=f"one of {listing(section.exactly_one)}",
        )


def _fault(section: type[Section], details: ErrorDetails) -> Fault:
    """Return what pydantic found as a fault of ours; inner sections have done so for themselves."""
    place, given = details["loc"], details["input"]
    match details["type"]:
        case "fault":
            return Fault(place=place, **details["ctx"])
        case "extra_forbidden":
            return _unknown(section, str(place[0]))
        case "missing":
            return Fault(place, "Is required.")
        case "greater_than_equal" | "less_than_equal":
            return _out_of_range(place, given, details["ctx"])
        case other:
            return _wrong_kind(place, given, _EXPECTED[other])


def _wrong_kind(place: Place, given: object, expected: str) -> Fault:
    # A text where a list or a mapping belongs may be a secret in the wrong place.
    is_number = isinstance(given, bool | int | float)
    return Fault(
        place,
        f"Must be {expected}.",
        found=shown(given) if expected in _SHOWN else kind(given),
        suggestion="Put it in quotes." if is_number and expected == "text" else None,
    )


def _out_of_range(place: Place, given: object, bound: Mapping[str, object]) -> Fault:
    words = {"ge": "at least", "le": "at most"}
    allowed = listing(f"{words[name]} {value}" for name, value in bound.items())
    return Fault(place, "Is out of range.", found=shown(given), allowed=allowed)


def _unknown(section: type[Section], key: str) -> Fault:
    if key in section.later:
        return Fault(
            (key,),
            "Is known, but not implemented in this version.",
            suggestion="Delete the key if you can do without what it asks for.",
        )
    if not _is_showable(section, key):
        return _odd_key()
    return Fault(
        (key,),
        "Is no key that is known here.",
        allowed=listing(section.keys()),
        suggestion=near(key, section.keys()),
    )
