"""The section `views`: parts of the whole that have a name and a path of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from vmcp.config.faults import Fault, fault, repeated, shown
from vmcp.config.raw import texts
from vmcp.config.section import Section, is_given
from vmcp.config.values import FilledText, Name, Text

# What no name that clients see can match would be a slip of the pen.
_PATTERN = r"^[A-Za-z0-9_.*-]{1,256}$"


def _tool(value: str) -> str:
    if re.fullmatch(_PATTERN, value) is None:
        raise fault(
            "Matches no name that clients see.",
            found=shown(value),
            allowed="letters, digits, '_', '.' and '-', and '*' for any of them",
        )
    return value


ToolPattern = Annotated[Text, AfterValidator(_tool), Field(json_schema_extra={"pattern": _PATTERN})]


class ViewSettings(Section):
    """A part of what clients see, at `/mcp/v/<name>`: `backends`, `tools` or both say which."""

    name: Name = Field(description="Its name, unique in the file; the last part of its path.")
    description: FilledText | None = Field(
        default=None, description="What it is for; clients are told with the instructions."
    )
    backends: Annotated[tuple[FilledText, ...], Field(json_schema_extra={"minItems": 1})] | None = (
        Field(
            default=None,
            description=(
                "The only backends of which it shows tools, prompts and resources; those that have "
                "one of its `tools` if absent."
            ),
        )
    )
    tools: Annotated[tuple[ToolPattern, ...], Field(json_schema_extra={"minItems": 1})] | None = (
        Field(
            default=None,
            description=(
                "The only tools to show, by the names that `/mcp` shows; `*` stands for any characters. "
                "Absent: all of its `backends`."
            ),
        )
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Refuse a view that limits nothing, lists that hold nothing, and names that are there twice."""
        if not is_given(given, "backends", "tools"):
            yield Fault(
                (),
                "Limits nothing, so that it shows what /mcp shows.",
                allowed="backends, tools or both",
            )
        for key in ("backends", "tools"):
            if given.get(key) == []:
                yield Fault((key,), "Names nothing.", found="an empty list")
            yield from repeated(texts(given, key), (key,))
