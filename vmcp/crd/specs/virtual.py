"""VirtualMCPServer: a gateway, and the group that it serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vmcp.crd.specs.auth_server import EmbeddedAuthServer
from vmcp.crd.specs.authorization import AuthzConfig
from vmcp.crd.specs.base import Rule, Spec, spec
from vmcp.crd.specs.conditions import Status
from vmcp.crd.specs.pods import PodTemplate, SessionAffinity
from vmcp.crd.specs.ratelimits import limits_each_user
from vmcp.crd.specs.references import (
    FilledRef,
    NameRef,
    OIDCConfigRef,
    PullSecret,
    TelemetryConfigRef,
)
from vmcp.crd.specs.runtime import RuntimeConfig
from vmcp.crd.specs.sessionstorage import SessionStorage
from vmcp.crd.specs.values import Count, Text, Texts, Timestamp, Whole, keyed_by
from vmcp.crd.specs.workload import ONE_AUTHZ


@spec
class IncomingAuth(Spec):
    """Who may come in."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.type != 'oidc' || has(self.oidcConfigRef)",
            "oidcConfigRef is required if type is 'oidc'.",
            lambda auth: auth.type != "oidc" or auth.oidc_config_ref is not None,
            ("oidcConfigRef",),
        ),
        ONE_AUTHZ,
    )

    type: Literal["anonymous", "oidc"] = Field(description="How callers are known.")
    oidc_config_ref: OIDCConfigRef | None = Field(
        default=None, description="How the tokens of callers are checked."
    )
    authz_config: AuthzConfig | None = Field(default=None, description="Who may do what.")
    authz_config_ref: FilledRef | None = Field(
        default=None, description="The MCPAuthzConfig that tells who may do what."
    )


@spec
class BackendAuth(Spec):
    """How the gateway authenticates to a backend."""

    type: Literal["discovered", "externalAuthConfigRef"] = Field(
        description="`discovered`: as the backend's own object says."
    )
    external_auth_config_ref: NameRef | None = Field(
        default=None, description="The MCPExternalAuthConfig of `externalAuthConfigRef`."
    )


@spec
class OutgoingAuth(Spec):
    """How the gateway authenticates to backends."""

    source: Literal["discovered", "inline"] = Field(
        default="discovered",
        description="`discovered`: the backends' own objects count first; `inline`: they do not.",
    )
    default: BackendAuth | None = Field(
        default=None, description="For backends without one of their own."
    )
    backends: Mapping[Text, BackendAuth] | None = Field(
        default=None, description="For single backends, by their names."
    )


_IS_LIMITED = "has(self.config) && has(self.config.rateLimiting)"


@spec
class VirtualMCPServerSpec(Spec):
    """What the gateway serves, whom it lets in, and how it runs."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"!({_IS_LIMITED})"
            " || (has(self.sessionStorage) && self.sessionStorage.provider == 'redis')",
            "config.rateLimiting needs sessionStorage with provider 'redis'.",
            lambda server: (
                server.config is None
                or server.config.rate_limiting is None
                or (
                    server.session_storage is not None
                    and server.session_storage.provider == "redis"
                )
            ),
            ("config", "rateLimiting"),
        ),
        Rule(
            f"!({_IS_LIMITED}) || self.incomingAuth.type == 'oidc'"
            " || (!has(self.config.rateLimiting.perUser) && (!has(self.config.rateLimiting.tools)"
            " || self.config.rateLimiting.tools.all(tool, !has(tool.perUser))))",
            "perUser in config.rateLimiting needs incomingAuth of type 'oidc'.",
            lambda server: (
                server.incoming_auth.type == "oidc"
                or server.config is None
                or not limits_each_user(server.config.rate_limiting)
            ),
            ("config", "rateLimiting"),
        ),
        Rule(
            "!has(self.embeddingServerRef) || !has(self.config) || !has(self.config.optimizer)"
            " || !has(self.config.optimizer.embeddingProvider)"
            " || self.config.optimizer.embeddingProvider != 'openai'",
            "embeddingServerRef cannot be combined with config.optimizer.embeddingProvider 'openai'.",
            lambda server: (
                server.embedding_server_ref is None
                or server.config is None
                or server.config.optimizer is None
                or server.config.optimizer.embedding_provider != "openai"
            ),
            ("embeddingServerRef",),
        ),
    )

    group_ref: FilledRef = Field(description="The MCPGroup that is served.")
    incoming_auth: IncomingAuth = Field(description="Who may come in.")
    outgoing_auth: OutgoingAuth | None = Field(
        default=None, description="How the gateway authenticates to backends."
    )
    passthrough_headers: Texts | None = Field(
        default=None, description="Headers of callers that backends are sent."
    )
    config: (
        Annotated[
            RuntimeConfig,
            Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}),
        ]
        | None
    ) = Field(
        default=None,
        description="The config of the gateway; what stands beside it here wins over it.",
    )
    auth_server_config: EmbeddedAuthServer | None = Field(
        default=None, description="An authorization server of its own."
    )
    embedding_server_ref: NameRef | None = Field(
        default=None, description="The EmbeddingServer that helps to search for tools."
    )
    telemetry_config_ref: TelemetryConfigRef | None = Field(
        default=None, description="Where traces and metrics go."
    )
    session_storage: SessionStorage | None = Field(
        default=None, description="Where the sessions of clients are kept."
    )
    session_affinity: SessionAffinity = Field(
        default="ClientIP", description="Whether a client's requests go to one pod."
    )
    replicas: Count | None = Field(
        default=None, description="How many gateways run; left to others if absent."
    )
    service_account: Text | None = Field(
        default=None, description="The ServiceAccount of its pods; one is made if absent."
    )
    service_type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = Field(
        default="ClusterIP", description="The type of its Service."
    )
    image_pull_secrets: tuple[PullSecret, ...] | None = Field(
        default=None, description="Credentials of image registries."
    )
    pod_template_spec: PodTemplate | None = Field(
        default=None, description="What is changed in its pods, as a PodTemplateSpec."
    )


@spec
class DiscoveredBackend(Spec):
    """One backend, and how it fares."""

    name: Text = Field(description="The name of the backend.")
    status: Text | None = Field(
        default=None,
        description="`ready`, `unavailable`, `degraded`, `unknown` or `unauthenticated`.",
    )
    url: Text | None = Field(default=None, description="The URL that is dialled.")
    message: Text | None = Field(default=None, description="How it fares, in a sentence.")
    auth_config_ref: Text | None = Field(
        default=None, description="The MCPExternalAuthConfig that is in force."
    )
    auth_type: Text | None = Field(default=None, description="The way of authenticating.")
    last_health_check: Timestamp | None = Field(
        default=None, description="When it was last looked at."
    )
    consecutive_failures: Whole | None = Field(
        default=None, description="How many checks in a row have failed."
    )
    circuit_breaker_state: Literal["closed", "open", "half-open"] | None = Field(
        default=None, description="How its circuit breaker is."
    )
    circuit_last_changed: Timestamp | None = Field(
        default=None, description="When the circuit breaker became what it is."
    )
    mcp_revision: Text | None = Field(
        default=None, description="The revision of MCP that it speaks."
    )


@spec
class VirtualMCPServerStatus(Status):
    """How the gateway is, and its backends."""

    phase: Literal["Pending", "Ready", "Degraded", "Failed"] = Field(
        default="Pending", description="How it is as a whole."
    )
    message: Text | None = Field(default=None, description="How it is, in a sentence.")
    url: Text | None = Field(default=None, description="The URL by which it is reached.")
    backend_count: Whole | None = Field(
        default=None, description="How many backends it can use now."
    )
    discovered_backends: Annotated[tuple[DiscoveredBackend, ...], keyed_by("name")] | None = Field(
        default=None, description="The backends, those that are left out included."
    )
    authz_config_hash: Text | None = Field(
        default=None, description="Of the MCPAuthzConfig that is in force."
    )
    oidc_config_hash: Text | None = Field(
        default=None, description="Of the MCPOIDCConfig that is in force."
    )
    telemetry_config_hash: Text | None = Field(
        default=None, description="Of the MCPTelemetryConfig that is in force."
    )
