"""MCPServer: a server that runs in pods of the cluster, behind a proxy."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.pods import EnvVars
from vmcp.crd.specs.ratelimits import RateLimiting, limits_each_user
from vmcp.crd.specs.references import NameRef
from vmcp.crd.specs.values import Count, Flag, Port, Text, Texts, Whole, keyed_by
from vmcp.crd.specs.workload import ONE_AUTHZ, MemberSpec, WorkloadSpec, WorkloadStatus

_Transport = Annotated[
    Literal["stdio", "streamable-http", "sse"],
    Field(description="The transport that the server itself speaks."),
]
_ProxyMode = Annotated[
    Literal["sse", "streamable-http"],
    Field(description="The transport of the proxy in front of a stdio server."),
]


@spec
class MCPServerMember(MemberSpec):
    """What a gateway reads of an MCPServer of its group."""

    transport: _Transport = "stdio"
    proxy_mode: _ProxyMode = "streamable-http"


@spec
class PermissionProfile(Spec):
    """What the server may reach."""

    type: Literal["builtin", "configmap"] = Field(
        default="builtin", description="Where the profile is."
    )
    name: Text = Field(description="The name of the profile, or of the ConfigMap.")
    key: Text | None = Field(default=None, description="The key in the ConfigMap.")


@spec
class SecretEnv(Spec):
    """A key of a Secret that becomes an environment variable of the server."""

    name: Text = Field(description="The name of the Secret.")
    key: Text = Field(description="The key in the Secret.")
    target_env_name: Text | None = Field(
        default=None, description="The name of the variable; the key if absent."
    )


@spec
class HostVolume(Spec):
    """A folder of the node that the server sees."""

    name: Text = Field(description="The name of the volume.")
    host_path: Text = Field(description="The folder on the node.")
    mount_path: Text = Field(description="Where the server sees it.")
    read_only: Flag = Field(default=False, description="Whether the server may only read it.")


@spec
class MCPServerSpec(WorkloadSpec):
    """The server, and the proxy in front of it."""

    rules: ClassVar[tuple[Rule, ...]] = (
        ONE_AUTHZ,
        Rule(
            "!has(self.rateLimiting)"
            " || (has(self.sessionStorage) && self.sessionStorage.provider == 'redis')",
            "rateLimiting needs sessionStorage with provider 'redis'.",
            lambda server: (
                server.rate_limiting is None
                or (
                    server.session_storage is not None
                    and server.session_storage.provider == "redis"
                )
            ),
            ("rateLimiting",),
        ),
        Rule(
            "!has(self.rateLimiting) || has(self.oidcConfigRef) || has(self.externalAuthConfigRef)"
            " || (!has(self.rateLimiting.perUser) && (!has(self.rateLimiting.tools)"
            " || self.rateLimiting.tools.all(tool, !has(tool.perUser))))",
            "perUser in rateLimiting needs oidcConfigRef or externalAuthConfigRef.",
            lambda server: (
                not limits_each_user(server.rate_limiting)
                or server.oidc_config_ref is not None
                or server.external_auth_config_ref is not None
            ),
            ("rateLimiting",),
        ),
    )

    transport: _Transport = "stdio"
    proxy_mode: _ProxyMode = "streamable-http"
    image: Text = Field(description="The container image of the server.")
    args: Texts | None = Field(default=None, description="Arguments of the server.")
    env: EnvVars | None = Field(default=None, description="Environment variables of the server.")
    secrets: Annotated[tuple[SecretEnv, ...], keyed_by("name")] | None = Field(
        default=None, description="Secrets that become environment variables of the server."
    )
    volumes: Annotated[tuple[HostVolume, ...], keyed_by("name")] | None = Field(
        default=None, description="Folders of the node that the server sees."
    )
    mcp_port: Port | None = Field(
        default=None, description="The port that the server itself listens on."
    )
    backend_replicas: Count | None = Field(
        default=None, description="How many servers run; left to others if absent."
    )
    permission_profile: PermissionProfile | None = Field(
        default=None, description="What the server may reach."
    )
    rate_limiting: RateLimiting | None = Field(
        default=None, description="How often callers may call."
    )
    webhook_config_ref: NameRef | None = Field(
        default=None, description="Webhooks that are asked about calls."
    )


@spec
class MCPServerStatus(WorkloadStatus):
    """How the server is."""

    phase: Literal["Pending", "Ready", "Failed", "Terminating", "Stopped"] | None = Field(
        default=None, description="How it is as a whole."
    )
    ready_replicas: Whole | None = Field(default=None, description="How many proxies are ready.")
    webhook_config_hash: Text | None = Field(
        default=None, description="Of the webhooks that are in force."
    )
