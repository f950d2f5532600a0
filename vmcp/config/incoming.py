"""The section `incomingAuth`: who may use the gateway, and by what it is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vmcp.config.faults import Fault
from vmcp.config.references import FilePath, no_complaint, read_by
from vmcp.config.section import Section
from vmcp.config.values import choice

IncomingType = Literal["anonymous", "api_key"]
LATER_INCOMING_TYPES = ("oidc",)


_KeysPath = Annotated[
    FilePath, read_by(lambda outside, path: outside.keys_file(path), no_complaint)
]


class IncomingAuthSettings(Section):
    """Who may use the gateway."""

    later: ClassVar[frozenset[str]] = frozenset({"oidc", "authz"})

    type: Annotated[IncomingType, choice(IncomingType, later=LATER_INCOMING_TYPES)] = Field(
        description=(
            "`anonymous`: everybody who reaches the gateway may use it. `api_key`: who sends a key of "
            "`keysFile`, as `Authorization: Bearer KEY` or `X-API-Key: KEY`."
        )
    )
    keys_file: _KeysPath | None = Field(
        default=None,
        description=(
            "The file of the API keys, with `type: api_key` alone: a line a key, `NAME: sha256:HEX` (as "
            "`vmcp key NAME` prints it) or `NAME: KEY`; lines that begin with `#` are comments."
        ),
    )

    @classmethod
    def faults(cls, given: Mapping[str, object]) -> Iterator[Fault]:
        """Want the file where keys are asked for, and nowhere else."""
        has_file = "keysFile" in given
        if given.get("type") == "api_key" and not has_file:
            yield Fault(
                ("keysFile",),
                "Is required with type api_key.",
                suggestion="'vmcp key NAME' makes a key and a line for the file.",
            )
        if given.get("type") == "anonymous" and has_file:
            yield Fault(
                ("keysFile",),
                "Has no effect: type is anonymous.",
                suggestion="Write type: api_key.",
            )
