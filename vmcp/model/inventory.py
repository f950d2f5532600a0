"""What one backend offers to one audience, as it said so itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from vmcp.model.document import Document
from vmcp.model.identity import EVERYBODY, Audience
from vmcp.model.keys import ObjectKey
from vmcp.model.problem import Problem


class Era(Enum):
    """The two ways in which MCP is spoken: with sessions (to 2025-11-25) and without (2026-07-28)."""

    SESSIONED = "sessioned"
    STATELESS = "stateless"


@dataclass(frozen=True, slots=True)
class Peer:
    """What a backend said of itself when it was opened.

    `capabilities` and `server_info` are raw JSON objects as they came; `version` is the negotiated revision.
    """

    era: Era
    version: str
    capabilities: Document
    server_info: bytes
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool's document with the two things that routing needs to know of it.

    `param_headers`: for each `x-mcp-header` annotation the header's token, the path of property names to the
    argument, and the JSON type ("string", "integer", "boolean").
    `object_output`: False where the root of `outputSchema` is not `type: object` (unknown before 2026-07-28).
    """

    name: str
    document: Document
    param_headers: tuple[tuple[str, tuple[str, ...], str], ...] = ()
    object_output: bool = True


@dataclass(frozen=True, slots=True)
class Named:
    """A prompt by its name, a resource by its URI, or a resource template by its URI template."""

    name: str
    document: Document


@dataclass(frozen=True, slots=True)
class Inventory:
    """The lists of one backend for one audience; each in the order in which the backend gave it.

    `problems` tell what was left out of the lists because no client could read it.
    """

    backend: ObjectKey
    peer: Peer
    audience: Audience = EVERYBODY
    tools: tuple[Tool, ...] = ()
    resources: tuple[Named, ...] = ()
    templates: tuple[Named, ...] = ()
    prompts: tuple[Named, ...] = ()
    problems: tuple[Problem, ...] = field(default=())
