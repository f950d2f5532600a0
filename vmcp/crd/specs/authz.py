"""MCPAuthzConfig: who may do what, for all who refer to it."""

from __future__ import annotations

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.conditions import ConfigStatus
from vmcp.crd.specs.values import FilledText, Raw


@spec
class MCPAuthzConfigSpec(Spec):
    """The kind of policies, and the policies."""

    type: FilledText = Field(description="The kind of policies, such as `cedarv1`.")
    config: Raw = Field(description="The policies, in the shape that their kind asks for.")


@spec
class MCPAuthzConfigStatus(ConfigStatus):
    """Whether the policies are valid, and who uses them."""
