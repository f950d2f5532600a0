"""A finished span as a plain value; what sends it away needs to know nothing of MCP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Attribute = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Span:
    """One span: ids are hexadecimal, times nanoseconds since 1970; `links` are traces that it touches as well."""

    name: str
    kind: Literal["server", "client"]
    trace: str
    span: str
    parent: str | None
    state: str | None
    began_ns: int
    ended_ns: int
    attributes: Mapping[str, Attribute]
    error: str | None
    links: tuple[tuple[str, str], ...] = ()
