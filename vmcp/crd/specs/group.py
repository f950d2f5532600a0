"""MCPGroup: servers that are served together."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.conditions import Status
from vmcp.crd.specs.values import Text, TextSet, Whole


@spec
class MCPGroupSpec(Spec):
    """What the group is for."""

    description: Text | None = Field(default=None, description="What the group is for, for people.")


@spec
class MCPGroupStatus(Status):
    """Who belongs to the group."""

    phase: Literal["Ready", "Pending", "Failed"] = Field(
        default="Pending", description="How the group is as a whole."
    )
    servers: TextSet | None = Field(default=None, description="The MCPServers of the group.")
    server_count: Whole | None = Field(default=None, description="How many MCPServers it has.")
    remote_proxies: TextSet | None = Field(
        default=None, description="The MCPRemoteProxies of the group."
    )
    remote_proxy_count: Whole | None = Field(
        default=None, description="How many MCPRemoteProxies it has."
    )
    entries: TextSet | None = Field(default=None, description="The MCPServerEntries of the group.")
    entry_count: Whole | None = Field(default=None, description="How many MCPServerEntries it has.")
