"""What all statuses share: conditions, and who refers to a shared config."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.values import Count, Text, Timestamp, Whole, keyed_by

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_PREFIX = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"


@spec
class Condition(Spec):
    """One aspect of how an object is."""

    type: Annotated[Text, Field(max_length=316, pattern=f"^({_PREFIX})?({_NAME})$")] = Field(
        description="The aspect, in CamelCase."
    )
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it is so.")
    reason: Annotated[
        Text,
        Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ] = Field(description="Why, as one word in CamelCase for programs.")
    message: Annotated[Text, Field(max_length=32768)] = Field(
        description="Why, as a sentence for people; may be empty."
    )
    last_transition_time: Timestamp = Field(description="When the status became what it is.")
    observed_generation: Count | None = Field(
        default=None, description="The generation of the object that this was said of."
    )


Conditions = Annotated[tuple[Condition, ...], keyed_by("type")]


@spec
class Status(Spec):
    """What every status has."""

    conditions: Conditions | None = Field(
        default=None, description="How the object is, one aspect each."
    )
    observed_generation: Whole | None = Field(
        default=None, description="The generation of the object that this status is about."
    )


@spec
class Referrer(Spec):
    """An object that refers to a shared config."""

    kind: Text = Field(description="The kind of the object.")
    name: Text = Field(description="The name of the object.")


@spec
class ConfigStatus(Status):
    """The status of a config that other objects refer to."""

    config_hash: Text | None = Field(
        default=None, description="Stands for the content of the spec; the same for equal specs."
    )
    reference_count: Count | None = Field(
        default=None, description="How many objects refer to this one (an addition of vmcp)."
    )
    referencing_workloads: Annotated[tuple[Referrer, ...], keyed_by("kind", "name")] | None = Field(
        default=None, description="The objects that refer to this one (an addition of vmcp)."
    )
