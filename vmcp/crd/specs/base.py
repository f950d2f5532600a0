"""What every mapping in a custom resource is made of: fields, and rules between them.

One class serves the reader and the schema of the CRD, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass as pydantic_dataclass

from vmcp.config.faults import Fault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule between fields: as CEL for the API server, and as a predicate for us.

    `message` is a sentence; `place` is the field that it is told of, the mapping itself where empty.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool]
    place: tuple[str, ...] = ()


def _add_rules(schema: dict[str, Any], model: type[Spec]) -> None:
    schema["x-kubernetes-validations"] = [_validation(rule) for rule in model.rules]


def _validation(rule: Rule) -> dict[str, str]:
    told = {"rule": rule.cel, "message": rule.message}
    return {**told, "fieldPath": f".{'.'.join(rule.place)}"} if rule.place else told


_CONFIG = ConfigDict(
    alias_generator=to_camel,
    # The API server prunes what it does not know; newer objects stay readable.
    extra="ignore",
    # Built when the first object is read: importing all kinds takes half of the time.
    defer_build=True,
    hide_input_in_errors=True,
    json_schema_extra=_add_rules,
)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field,))
def spec(model: type[T]) -> type[T]:
    """Make a class of fields a frozen one with slots that checks what it is made of."""
    make = pydantic_dataclass(frozen=True, slots=True, kw_only=True, repr=False, config=_CONFIG)
    return cast("type[T]", make(model))


@spec
class Spec:
    """A mapping of a custom resource: camelCase in the object, snake_case here."""

    rules: ClassVar[tuple[Rule, ...]] = ()

    def __repr__(self) -> str:
        """Tell the class alone: headers, environment variables and settings may hold secrets."""
        return f"<{type(self).__name__}>"

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, given: object) -> object:
        # None of our fields is nullable: the API server takes null for absent, before it fills in defaults.
        if isinstance(given, Mapping):
            return {key: value for key, value in given.items() if value is not None}
        return given

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        broken = [Fault(rule.place, rule.message) for rule in self.rules if not rule.holds(self)]
        if broken:
            lines = [fault.line() for fault in broken]
            raise ValidationError.from_exception_data(type(self).__name__, lines)
        return self
