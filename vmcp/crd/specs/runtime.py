"""The config of a gateway within its VirtualMCPServer, in the shape of the config file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from vmcp.crd.specs.base import Spec, spec
from vmcp.crd.specs.composite import VirtualMCPCompositeToolDefinitionSpec
from vmcp.crd.specs.entry import HttpTransport
from vmcp.crd.specs.ratelimits import RateLimiting
from vmcp.crd.specs.references import NameRef
from vmcp.crd.specs.runtime_aggregation import Aggregation
from vmcp.crd.specs.runtime_auth import RuntimeIncomingAuth, RuntimeOutgoingAuth
from vmcp.crd.specs.runtime_operational import Operational
from vmcp.crd.specs.runtime_optimizer import CodeMode, Optimizer
from vmcp.crd.specs.runtime_telemetry import RuntimeAudit, RuntimeTelemetry
from vmcp.crd.specs.values import Count, Text, TextMap, Texts, WebUrl


@spec
class RuntimeBackend(Spec):
    """A backend that is no object."""

    name: Text = Field(description="Its name.")
    url: WebUrl = Field(description="Its URL.")
    transport: HttpTransport = Field(description="The transport that it speaks.")
    type: Literal["entry", ""] | None = Field(
        default=None, description="`entry` for one that an MCPServerEntry stands for."
    )
    ca_bundle_path: Text | None = Field(
        default=None, description="The file with the certificates that its own is checked against."
    )
    metadata: TextMap | None = Field(default=None, description="What else is known of it.")


@spec
class RuntimeSessionStorage(Spec):
    """Where the sessions of clients are kept."""

    provider: Literal["memory", "redis"] = Field(
        description="`redis` lets several replicas share them."
    )
    address: Text | None = Field(default=None, description="The address of Redis, `host:port`.")
    db: Count = Field(default=0, description="The number of the database.")
    key_prefix: Text | None = Field(default=None, description="What all keys begin with.")


@spec
class RuntimeConfig(Spec):
    """The config of a gateway; what stands in `spec` itself wins over it."""

    name: Text | None = Field(default=None, description="The name that clients are told.")
    metadata: TextMap | None = Field(default=None, description="What else is known of it.")
    group_ref: Text | None = Field(default=None, description="The MCPGroup that is served.")
    backends: tuple[RuntimeBackend, ...] | None = Field(
        default=None, description="Backends that are no objects."
    )
    aggregation: Aggregation | None = Field(
        default=None, description="How the tools of many backends become one list."
    )
    incoming_auth: RuntimeIncomingAuth | None = Field(default=None, description="Who may come in.")
    outgoing_auth: RuntimeOutgoingAuth | None = Field(
        default=None, description="How the gateway authenticates to backends."
    )
    passthrough_headers: Texts | None = Field(
        default=None, description="Headers of callers that backends are sent."
    )
    operational: Operational | None = Field(default=None, description="How the gateway runs.")
    rate_limiting: RateLimiting | None = Field(
        default=None, description="How often callers may call."
    )
    session_storage: RuntimeSessionStorage | None = Field(
        default=None, description="Where the sessions of clients are kept."
    )
    audit: RuntimeAudit | None = Field(default=None, description="A record of who called what.")
    telemetry: RuntimeTelemetry | None = Field(
        default=None, description="Where traces and metrics go."
    )
    optimizer: Optimizer | None = Field(
        default=None, description="Tools are searched for instead of listed."
    )
    code_mode: CodeMode | None = Field(
        default=None, description="Tools are called from a program that the model writes."
    )
    composite_tools: tuple[VirtualMCPCompositeToolDefinitionSpec, ...] | None = Field(
        default=None, description="Tools that are made of calls to others."
    )
    composite_tool_refs: tuple[NameRef, ...] | None = Field(
        default=None, description="VirtualMCPCompositeToolDefinitions to offer."
    )
