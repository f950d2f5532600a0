"""Reads parts of custom resources into their classes, as the API server would take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from vmcp.config.faults import Fault, Place, path_text
from vmcp.crd.faults import faults_of
from vmcp.crd.schema import structural
from vmcp.crd.specs.base import Spec

S = TypeVar("S", bound=Spec)


@dataclass(frozen=True, slots=True)
class Malformed:
    """What was given is not of its class; `faults` holds at least one, with places within it."""

    faults: tuple[Fault, ...]

    def sentences(self) -> tuple[str, ...]:
        """Write each fault with its place, what was found and what is allowed."""
        return tuple(_sentence(fault) for fault in self.faults)

    def __str__(self) -> str:
        """Write all faults as one line."""
        return " ".join(self.sentences())


def read(model: type[S], given: object) -> S | Malformed:
    """Read a spec or a status; None is an empty one, and fields that we do not know are passed over."""
    key: Any = model
    try:
        found: S = _adapter(key).validate_python({} if given is None else given)
    except ValidationError as error:
        return Malformed(faults_of(error))
    return found


def unknown_fields(model: type[Spec], given: object) -> tuple[Place, ...]:
    """Return the places of fields that we do not know, which the API server would prune."""
    key: Any = model
    return tuple(_unknown(_schema(key), given, ()))


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


@cache
def _schema(model: Any) -> Mapping[str, Any]:
    return structural(model)


def _unknown(schema: Mapping[str, Any], given: object, place: Place) -> Iterator[Place]:
    match given:
        case Mapping():
            fields = schema.get("properties", {})
            others = schema.get("additionalProperties")
            for key, value in given.items():
                inner = fields.get(key, others)
                if inner is not None:
                    yield from _unknown(inner, value, (*place, key))
                elif fields:
                    yield (*place, key)
        case list():
            for index, value in enumerate(given):
                yield from _unknown(schema.get("items", {}), value, (*place, index))


def _sentence(fault: Fault) -> str:
    where = path_text(fault.place)
    found = f" Found: {fault.found}." if fault.found else ""
    allowed = f" Allowed: {fault.allowed}." if fault.allowed else ""
    return (
        f"{where}: {fault.message}{found}{allowed}" if where else f"{fault.message}{found}{allowed}"
    )
