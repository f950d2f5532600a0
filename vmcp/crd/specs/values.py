"""The kinds of single values in custom resources, each with what the API server is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    Strict,
    WithJsonSchema,
)
from pydantic.alias_generators import to_snake
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from vmcp.config import durations
from vmcp.config.faults import fault, kind, listing, shown
from vmcp.model.secret import Secret

Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Count = Annotated[Whole, Field(ge=0)]
Port = Annotated[Whole, Field(ge=1, le=65535)]
Positive = Annotated[Whole, Field(ge=1)]

Text = Annotated[str, Strict()]
FilledText = Annotated[Text, Field(min_length=1)]
Duration = Annotated[Text, Field(pattern=durations.PATTERN)]
DnsLabel = Annotated[
    Text, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
]
WebUrl = Annotated[Text, Field(pattern="^https?://")]
HttpsUrl = Annotated[Text, Field(pattern="^https://")]

Texts = tuple[Text, ...]
TextMap = Mapping[Text, Text]


def _hidden(value: object) -> Secret:
    if not isinstance(value, str):
        raise fault("Must be text.", found=kind(value))
    return Secret(value)


SecretText = Annotated[Secret, PlainValidator(_hidden), WithJsonSchema({"type": "string"})]
Timestamp = Annotated[Text, Field(json_schema_extra={"format": "date-time"})]

# What we hand on without looking into it.
Raw = Annotated[
    Mapping[Text, Any],
    Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}),
]
AnyValue = Annotated[Any, Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})]


@dataclass(frozen=True, slots=True)
class Listed:
    """Marks a list that holds an entry once: the same text, or the same values of some keys.

    The API server refuses doubles by itself and merges such lists entry by entry; we refuse them likewise.
    """

    keys: tuple[str, ...] = ()

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Add the check to the schema of the list."""
        return no_info_after_validator_function(self._refuse_doubles, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Tell the API server what kind of list it is."""
        marks: dict[str, Any] = {"x-kubernetes-list-type": "map" if self.keys else "set"}
        if self.keys:
            marks["x-kubernetes-list-map-keys"] = [*self.keys]
        return {**handler(schema), **marks}

    def _refuse_doubles(self, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        names = [to_snake(key) for key in self.keys]
        marks = [tuple(getattr(one, name) for name in names) or (one,) for one in entries]
        doubles = [mark for i, mark in enumerate(marks) if mark in marks[:i]]
        if doubles:
            what = listing(self.keys)
            raise fault(
                f"Holds two entries with the same {what}." if what else "Holds an entry twice.",
                found=listing(shown(value) for value in doubles[0]),
            )
        return entries


TextSet = Annotated[Texts, Listed()]


def keyed_by(*keys: str) -> Listed:
    """Mark a list whose entries are told apart by these fields."""
    return Listed(keys)
