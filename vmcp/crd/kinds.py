"""The kinds of custom resources that are ours, and what the API server is told of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from vmcp.crd.specs.authz import MCPAuthzConfigSpec, MCPAuthzConfigStatus
from vmcp.crd.specs.base import Spec
from vmcp.crd.specs.composite import (
    VirtualMCPCompositeToolDefinitionSpec,
    VirtualMCPCompositeToolDefinitionStatus,
)
from vmcp.crd.specs.entry import MCPServerEntrySpec, MCPServerEntryStatus
from vmcp.crd.specs.external_auth import MCPExternalAuthConfigSpec, MCPExternalAuthConfigStatus
from vmcp.crd.specs.group import MCPGroupSpec, MCPGroupStatus
from vmcp.crd.specs.oidc import MCPOIDCConfigSpec, MCPOIDCConfigStatus
from vmcp.crd.specs.remoteproxy import MCPRemoteProxySpec, MCPRemoteProxyStatus
from vmcp.crd.specs.server import MCPServerSpec, MCPServerStatus
from vmcp.crd.specs.telemetry import MCPTelemetryConfigSpec, MCPTelemetryConfigStatus
from vmcp.crd.specs.toolconfig import MCPToolConfigSpec, MCPToolConfigStatus
from vmcp.crd.specs.virtual import VirtualMCPServerSpec, VirtualMCPServerStatus

GROUP = "toolhive.stacklok.dev"
CATEGORY = "toolhive"
STORED_VERSION = "v1beta1"
DEPRECATED_VERSION = "v1alpha1"
VERSIONS = (DEPRECATED_VERSION, STORED_VERSION)
API_VERSIONS = tuple(f"{GROUP}/{version}" for version in VERSIONS)


@dataclass(frozen=True, slots=True)
class Column:
    """What `kubectl get` shows of an object."""

    name: str
    path: str
    type: Literal["string", "integer", "boolean", "date"] = "string"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: its names, what it is for, and the classes of its parts."""

    name: str
    plural: str
    short_names: tuple[str, ...]
    description: str
    columns: tuple[Column, ...]
    spec: type[Spec]
    status: type[Spec]


def _condition(name: str) -> str:
    return f".status.conditions[?(@.type=='{name}')].status"


_AGE = Column("Age", ".metadata.creationTimestamp", "date")
_PHASE = Column("Phase", ".status.phase")
_READY = Column("Ready", _condition("Ready"))
_URL = Column("URL", ".status.url")
_REMOTE_URL = Column("Remote URL", ".spec.remoteUrl")
_VALID = Column("Valid", _condition("Valid"))

MCP_GROUP = Kind(
    name="MCPGroup",
    plural="mcpgroups",
    short_names=("mcpg", "mcpgroup"),
    description="Servers that are served together.",
    columns=(
        Column("Servers", ".status.serverCount", "integer"),
        Column("Proxies", ".status.remoteProxyCount", "integer"),
        _PHASE,
        Column("Checked", _condition("MCPServersChecked")),
        _AGE,
    ),
    spec=MCPGroupSpec,
    status=MCPGroupStatus,
)
MCP_SERVER = Kind(
    name="MCPServer",
    plural="mcpservers",
    short_names=("mcpserver", "mcpservers"),
    description="A server that runs in pods of the cluster, behind a proxy.",
    columns=(
        Column("Status", ".status.phase"),
        _READY,
        Column("Replicas", ".status.readyReplicas", "integer"),
        _URL,
        _AGE,
    ),
    spec=MCPServerSpec,
    status=MCPServerStatus,
)
MCP_REMOTE_PROXY = Kind(
    name="MCPRemoteProxy",
    plural="mcpremoteproxies",
    short_names=("rp", "mcprp"),
    description="A proxy in the cluster in front of a server that runs elsewhere.",
    columns=(_PHASE, _REMOTE_URL, _URL, _READY, _AGE),
    spec=MCPRemoteProxySpec,
    status=MCPRemoteProxyStatus,
)
MCP_SERVER_ENTRY = Kind(
    name="MCPServerEntry",
    plural="mcpserverentries",
    short_names=("mcpentry",),
    description="A server that runs elsewhere and is dialled as it is, without a proxy.",
    columns=(
        _PHASE,
        Column("Transport", ".spec.transport"),
        _REMOTE_URL,
        Column("Group", ".spec.groupRef.name"),
        _AGE,
    ),
    spec=MCPServerEntrySpec,
    status=MCPServerEntryStatus,
)
MCP_EXTERNAL_AUTH_CONFIG = Kind(
    name="MCPExternalAuthConfig",
    plural="mcpexternalauthconfigs",
    short_names=("extauth", "mcpextauth"),
    description="How to authenticate to servers, for all who refer to it.",
    columns=(Column("Type", ".spec.type"), _VALID, _AGE),
    spec=MCPExternalAuthConfigSpec,
    status=MCPExternalAuthConfigStatus,
)
MCP_TOOL_CONFIG = Kind(
    name="MCPToolConfig",
    plural="mcptoolconfigs",
    short_names=("tc", "toolconfig"),
    description="Which tools of servers are shown and how, for all who refer to it.",
    columns=(_VALID, _AGE),
    spec=MCPToolConfigSpec,
    status=MCPToolConfigStatus,
)
MCP_OIDC_CONFIG = Kind(
    name="MCPOIDCConfig",
    plural="mcpoidcconfigs",
    short_names=("mcpoidc",),
    description="How the tokens of callers are checked, for all who refer to it.",
    columns=(Column("Source", ".spec.type"), _VALID, _AGE),
    spec=MCPOIDCConfigSpec,
    status=MCPOIDCConfigStatus,
)
MCP_AUTHZ_CONFIG = Kind(
    name="MCPAuthzConfig",
    plural="mcpauthzconfigs",
    short_names=("authzcfg",),
    description="Who may do what, for all who refer to it.",
    columns=(Column("Type", ".spec.type"), _VALID, _AGE),
    spec=MCPAuthzConfigSpec,
    status=MCPAuthzConfigStatus,
)
MCP_TELEMETRY_CONFIG = Kind(
    name="MCPTelemetryConfig",
    plural="mcptelemetryconfigs",
    short_names=("mcpotel",),
    description="Where traces and metrics go, for all who refer to it.",
    columns=(
        Column("Endpoint", ".spec.openTelemetry.endpoint"),
        _VALID,
        Column("Tracing", ".spec.openTelemetry.tracing.enabled", "boolean"),
        Column("Metrics", ".spec.openTelemetry.metrics.enabled", "boolean"),
        _AGE,
    ),
    spec=MCPTelemetryConfigSpec,
    status=MCPTelemetryConfigStatus,
)
VIRTUAL_MCP_SERVER = Kind(
    name="VirtualMCPServer",
    plural="virtualmcpservers",
    short_names=("vmcp", "virtualmcp"),
    description="A gateway that serves all members of a group at one URL.",
    columns=(
        _PHASE,
        _URL,
        Column("Backends", ".status.backendCount", "integer"),
        _AGE,
        _READY,
    ),
    spec=VirtualMCPServerSpec,
    status=VirtualMCPServerStatus,
)
VIRTUAL_MCP_COMPOSITE_TOOL_DEFINITION = Kind(
    name="VirtualMCPCompositeToolDefinition",
    plural="virtualmcpcompositetooldefinitions",
    short_names=("vmcpctd", "compositetool"),
    description="A tool that is made of calls to others.",
    columns=(
        Column("Workflow", ".spec.name"),
        Column("Status", ".status.validationStatus"),
        _AGE,
        _READY,
    ),
    spec=VirtualMCPCompositeToolDefinitionSpec,
    status=VirtualMCPCompositeToolDefinitionStatus,
)

KINDS = (
    MCP_GROUP,
    MCP_SERVER,
    MCP_REMOTE_PROXY,
    MCP_SERVER_ENTRY,
    MCP_EXTERNAL_AUTH_CONFIG,
    MCP_TOOL_CONFIG,
    MCP_OIDC_CONFIG,
    MCP_AUTHZ_CONFIG,
    MCP_TELEMETRY_CONFIG,
    VIRTUAL_MCP_SERVER,
    VIRTUAL_MCP_COMPOSITE_TOOL_DEFINITION,
)
KIND_OF: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in KINDS})
